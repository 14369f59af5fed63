"""All blocks of a plan, as far as budget and patience allow; goes on where an earlier attempt stopped."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from feedbench.errors import EngineError, HostLostError, RunDirectoryError
from feedbench.host.pinning import choose_pinning
from feedbench.host.shield import NOT_ASKED, Shield, enter_shield
from feedbench.measuring import measuring
from feedbench.network_path import verify_path
from feedbench.paths import SCHEMA, Project, RunDirectory, write_json
from feedbench.plan import Block, Plan, read_plan
from feedbench.registry import Registry
from feedbench.run.block import BlockRecord, read_block, run_block, set_aside
from feedbench.run.budget import allows_another, time_left_ns
from feedbench.run.calibration import calibrate
from feedbench.run.ceiling import shapes
from feedbench.run.context import Context
from feedbench.run.interruption import Interrupted
from feedbench.run.place import Place
from feedbench.run.progress import Progress
from feedbench.run.record import LostAttempt, RunRecord, Stopped, read_record
from feedbench.run.watch import Stoppable

# A block whose host is lost each time is marked as failed, and the run goes on without it.
ATTEMPTS = 5


@dataclass
class _Pace:
    """Where the run stands, for progress and budget."""

    plan: Plan
    measured_ns: list[int]
    doing: str = "starting"
    block: int = 0
    block_started_ns: int = 0

    @property
    def planned_ns(self) -> int:
        """What the plan expects of one block."""
        return self.plan.estimate_ns // max(1, len(self.plan.blocks))

    def allows_another(self) -> bool:
        return allows_another(
            budget_ns=self.plan.budget_ns,
            spent_ns=sum(self.measured_ns),
            measured_ns=self.measured_ns,
            planned_ns=self.planned_ns,
        )

    def show(self, progress: Progress) -> None:
        """Called every second, and whenever something else begins."""
        left_ns = time_left_ns(
            budget_ns=self.plan.budget_ns,
            spent_ns=sum(self.measured_ns),
            measured_ns=self.measured_ns,
            planned_ns=self.planned_ns,
            blocks_left=len(self.plan.blocks) - len(self.measured_ns),
            within_ns=time.monotonic_ns() - self.block_started_ns,
        )
        progress.show(block=self.block + 1, blocks=len(self.plan.blocks), doing=self.doing, left_ns=left_ns)


def run_campaign(
    directory: RunDirectory,
    *,
    project: Project,
    registry: Registry,
    interruption: Stoppable,
    progress: Progress,
    remote: Place | None = None,
) -> RunRecord:
    """Runs what is still to be run and returns the record, which stands in run.json too.

    `remote` are the hosts to run it on, None for this machine.

    What was measured stays on disk whatever happens; an error that ends the run is in the record before it is
    raised.
    """
    plan = read_plan(directory.plan)
    with _locked(directory), measuring(project):
        pinning = remote.pinning if remote else choose_pinning(wanted=plan.protocol.pin)
        # Entered first: everything started from here on inherits it.
        shield = enter_shield() if plan.protocol.shield and remote is None else NOT_ASKED
        whole = {block.index: read_block(directory, block.index) for block in plan.blocks}
        done = [record for record in whole.values() if record is not None]
        record = replace(
            read_record(directory),
            blocks_done=tuple(entry.index for entry in done),
            blocks_failed=(),  # each is begun anew
            stopped="running",
            cause=None,
            shield=shield.description,
            pinned=pinning.document(),
            advice=_advice(pinning.advice, shield),
        )
        record.write(directory)
        pace = _Pace(plan, [entry.duration_ns for entry in done], block_started_ns=time.monotonic_ns())

        def tick() -> None:
            pace.show(progress)

        def told(doing: str) -> None:
            pace.doing = doing
            tick()

        context = Context(
            plan=plan,
            registry=registry,
            project=project,
            directory=directory,
            pinning=pinning,
            shield=shield,
            interruption=interruption,
            left_out=record.left_out,
            told=told,
            tick=tick,
            cpus_allowed=tuple(sorted(os.sched_getaffinity(0))),
            remote=remote,
        )
        try:
            _ceiling(context, progress)
            _networks(context, progress)
            context = _calibrated(context)
            missing = [block for block in plan.blocks if whole[block.index] is None]
            record = _blocks(context, record, pace, missing, progress)
        except BaseException as error:
            _leave_word(record, directory, error)
            raise
        finally:
            progress.clear()
            shield.leave()
        return record


def _blocks(
    context: Context, record: RunRecord, pace: _Pace, blocks: list[Block], progress: Progress
) -> RunRecord:
    stopped: Stopped = "complete"
    for block in blocks:
        if context.interruption.asked:
            stopped = "interrupted"
            break
        if not pace.allows_another():
            stopped = "budget"
            break
        pace.block, pace.block_started_ns = block.index, time.monotonic_ns()
        record, outcome = _whole(context, record, block, progress)
        if outcome is None and context.interruption.asked:
            stopped = "interrupted"
            break
        if outcome is None:
            record = replace(record, blocks_failed=(*record.blocks_failed, block.index))
            record.write(context.directory)
            continue
        pace.measured_ns.append(outcome.duration_ns)
        pace.block_started_ns = time.monotonic_ns()
        record = replace(record, blocks_done=(*record.blocks_done, block.index), ended_unix_ns=time.time_ns())
        record.write(context.directory)
    record = replace(record, stopped=stopped, ended_unix_ns=time.time_ns())
    record.write(context.directory)
    return record


def _whole(
    context: Context, record: RunRecord, block: Block, progress: Progress
) -> tuple[RunRecord, BlockRecord | None]:
    """Measures the block, and anew when a host of a cluster was lost; None when it is not whole at last.

    What was cut off is set aside each time, and stands in the record: no attempt is silently dropped.
    """
    for attempt in range(1, ATTEMPTS + 1):
        set_aside(context.directory, block.index)
        try:
            return record, run_block(context, block)
        except HostLostError as error:
            progress.note(f"block {block.index + 1} is cut off: {error}")
            lost = LostAttempt(block.index, attempt, str(error))
            record = replace(record, lost=(*record.lost, lost))
            record.write(context.directory)
        if context.interruption.asked:
            break
    set_aside(context.directory, block.index)
    return record, None


def _ceiling(context: Context, progress: Progress) -> None:
    """Once a run. Without it shares of the ceiling are unknown, which is no reason not to measure."""
    wanted = shapes(context.plan.conditions, root=context.project.root)
    if context.directory.ceiling.exists() or not wanted:
        return
    context.told("measuring the ceiling")
    try:
        with context.interruption.raising():
            document = context.place.ceiling(
                wanted, awake=context.plan.protocol.cpus_awake, tick=context.tick
            )
    except Interrupted:
        return
    except (EngineError, HostLostError) as error:
        progress.note(f"no ceiling: {error}")
        return
    write_json(context.directory.ceiling, document)


def _networks(context: Context, progress: Progress) -> None:
    """Once a run: whether the networks between exchange and clients are as asked, for the record."""
    feeds = [condition.load.feed for condition in context.plan.conditions]
    wanted = {feed.network: shape for feed in feeds if feed is not None and (shape := feed.path_shape)}
    if context.directory.networks.exists() or not wanted:
        return
    found = {}
    try:
        for network, shape in wanted.items():
            context.told(f"measuring the network {network}")
            with context.interruption.raising():
                found[network] = verify_path(context.project.path_emulator, shape)
            for departure in found[network]["departures"]:
                progress.note(f"the network {network} is not as asked: {departure}")
    except Interrupted:
        return
    write_json(context.directory.networks, {"schema": SCHEMA, "networks": found})


def _calibrated(context: Context) -> Context:
    """Once a run, too. An interruption here ends the run before its next block."""
    try:
        with context.interruption.raising():
            return replace(context, offered=calibrate(context))
    except Interrupted:
        return context


def _advice(pinning: str | None, shield: Shield) -> tuple[str, ...]:
    unshielded = None if shield.in_force else f"nothing keeps other work off the CPUs: {shield.description}"
    return tuple(filter(None, (pinning, unshielded)))


def _leave_word(record: RunRecord, directory: RunDirectory, error: BaseException) -> None:
    """Notes why the run failed; on a full disk even this may fail, and the first error is the one to tell."""
    try:
        cause = str(error) or type(error).__name__
        replace(record, stopped="failed", cause=cause, ended_unix_ns=time.time_ns()).write(directory)
    except RunDirectoryError:
        return


@contextmanager
def _locked(directory: RunDirectory) -> Iterator[None]:
    """Two runs into one directory would mix their blocks. The kernel drops the lock when the process ends."""
    try:
        descriptor = os.open(directory.path / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write into it: {error.strerror}", where=str(directory.path)
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise RunDirectoryError(
            "another feedbench is measuring into it", where=str(directory.path), hint="wait for it to end"
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)
