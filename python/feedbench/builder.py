"""Builds many targets, several at a time; one that fails does not stop the others.

As many builds run at once as there are CPUs, but only one while something is measured, and never two that
write into the same shared folder.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field

from feedbench.build import Say, build_target, unbuilt, uses_shared
from feedbench.commands import scratch_folder, shared_folder
from feedbench.measuring import measuring_under_way
from feedbench.paths import SCHEMA, Project, write_json
from feedbench.receipt import Receipt
from feedbench.registry import Registry, read_latest_receipt
from feedbench.target import DEBUG, Target

__all__ = ["BuildSummary", "build_targets", "clean", "summary_of"]


@dataclass(frozen=True)
class Job:
    """One build of one target. `last_seconds` is how long it took when it was last made."""

    target: Target
    mode: str
    last_seconds: float | None

    @property
    def shares(self) -> str | None:
        """The language whose shared folder it writes into."""
        return self.target.name.split("/")[0] if uses_shared(self.target, self.mode) else None


@dataclass(frozen=True)
class BuildSummary:
    """What a round of builds came to; stands in .feedbench/builds.json."""

    started_unix_ns: int
    seconds: float
    at_a_time: int
    from_nothing: bool
    built: int
    up_to_date: int
    failed: int
    missing: int

    def write(self, project: Project) -> None:
        write_json(project.scratch / "builds.json", {"schema": SCHEMA, **asdict(self)})

    def __str__(self) -> str:
        parts = [
            f"{self.built} built",
            f"{self.up_to_date} up to date",
            f"{self.failed} failed",
            f"{self.missing} left out",
        ]
        return f"{', '.join(parts)} in {duration(self.seconds)}, {self.at_a_time} at a time"


def build_targets(
    targets: Iterable[Target],
    registry: Registry,
    *,
    project: Project,
    say: Say,
    force: bool = False,
    debug: Collection[str] = (),
    at_a_time: int | None = None,
) -> list[Receipt]:
    """A receipt for each target, in their order; `debug` names those whose debug build is wanted too.

    `say` gets a line for each build that ended, with the time that the rest may take. ^C ends all of them.
    """
    receipts: dict[tuple[str, str], Receipt] = {}
    jobs = []
    order = []
    for target in targets:
        modes = [target.mode, *([DEBUG] if target.name in debug else [])]
        reason = cannot_be_tried(target, registry)
        if reason is not None:
            say(f"{target.name}: left out, {reason}")
        for mode in modes:
            order.append((target.name, mode))
            if reason is not None:
                receipts[target.name, mode] = unbuilt(target, "missing", reason, mode=mode)
            else:
                last = read_latest_receipt(project, target.name, mode)
                jobs.append(Job(target, mode, last.seconds if last else None))
    for receipt in _Workshop(project, say, force, at_a_time or builds_at_a_time(project)).run(jobs):
        receipts[receipt.target, receipt.mode] = receipt
    return [receipts[key] for key in order]


def cannot_be_tried(target: Target, registry: Registry) -> str | None:
    """Why there is no point in building it here; None when there is."""
    if target.on_hold:
        return f"on hold: {target.reason}"
    state = registry.states[target.name]
    return (state.reason or "a need is missing") if state.state == "missing" else None


def builds_at_a_time(project: Project) -> int:
    """One while something is measured: compiling fills caches and memory even at idle priority."""
    return 1 if measuring_under_way(project) else len(os.sched_getaffinity(0))


def clean(targets: Iterable[Target], *, project: Project) -> None:
    """Removes what earlier builds of these left, and what their languages share."""
    for target in targets:
        for mode in (target.mode, DEBUG):
            shutil.rmtree(scratch_folder(project, target, mode), ignore_errors=True)
        shutil.rmtree(shared_folder(project, target), ignore_errors=True)


def summary_of(
    receipts: Sequence[Receipt], *, started_unix_ns: int, seconds: float, at_a_time: int, from_nothing: bool
) -> BuildSummary:
    """Counts; a receipt that was there before the start says "up to date"."""
    built = [receipt for receipt in receipts if receipt.state == "built"]
    new = [receipt for receipt in built if receipt.started_unix_ns >= started_unix_ns]
    return BuildSummary(
        started_unix_ns=started_unix_ns,
        seconds=round(seconds, 1),
        at_a_time=at_a_time,
        from_nothing=from_nothing,
        built=len(new),
        up_to_date=len(built) - len(new),
        failed=sum(receipt.state == "failed" for receipt in receipts),
        missing=sum(receipt.state == "missing" for receipt in receipts),
    )


def next_job(waiting: Sequence[Job], running: Iterable[Job]) -> Job | None:
    """The first that may start beside those running. Builds that must queue for a shared folder go first."""
    taken = {job.shares for job in running} - {None}
    able = [job for job in waiting if job.shares not in taken]
    return min(able, key=lambda job: job.shares is None, default=None)


def seconds_left(waiting: Sequence[Job], took: Sequence[float], *, at_a_time: int) -> float:
    """From how long each took when it was last built, else from the mean of those built just now."""
    usual = sum(took) / len(took) if took else 0.0
    expected = [usual if job.last_seconds is None else job.last_seconds for job in waiting]
    return max([sum(expected) / at_a_time, *expected], default=0.0)


def duration(seconds: float) -> str:
    """`"45 s"`, `"12 min"`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@dataclass
class _Workshop:
    """The builds under way."""

    project: Project
    say: Say
    force: bool
    at_a_time: int
    stop: threading.Event = field(default_factory=threading.Event)
    took: list[float] = field(default_factory=list)

    def run(self, jobs: Sequence[Job]) -> list[Receipt]:
        """All receipts, as the builds ended."""
        receipts: list[Receipt] = []
        waiting, running = list(jobs), dict[Future[Receipt], Job]()
        with ThreadPoolExecutor(self.at_a_time) as pool:
            try:
                while waiting or running:
                    self._start(pool, waiting, running)
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        del running[future]
                        receipts.append(future.result())
                        self._tell(receipts[-1], done=len(receipts), of=len(jobs), waiting=waiting)
            except BaseException:
                self.stop.set()
                raise
        return receipts

    def _start(
        self, pool: ThreadPoolExecutor, waiting: list[Job], running: dict[Future[Receipt], Job]
    ) -> None:
        while len(running) < self.at_a_time:
            job = next_job(waiting, running.values())
            if job is None:
                return
            waiting.remove(job)
            running[pool.submit(self._build, job)] = job

    def _build(self, job: Job) -> Receipt:
        started = time.monotonic()
        receipt = build_target(
            job.target, project=self.project, say=self.say, force=self.force, mode=job.mode, stop=self.stop
        )
        self.took.append(time.monotonic() - started)
        return receipt

    def _tell(self, receipt: Receipt, *, done: int, of: int, waiting: Sequence[Job]) -> None:
        if not waiting:
            return
        left = seconds_left(waiting, self.took, at_a_time=self.at_a_time)
        self.say(f"builds: {done} of {of} done, about {duration(left)} left")
