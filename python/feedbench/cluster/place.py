"""Where a block's processes run when they run on hosts of a cluster, for the one block runner that there is.

The controller orders and writes; hosts start, measure and hand over what they have. A host that is lost
raises HostLostError out of the block, and the campaign measures the block anew, elsewhere if need be.
"""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedbench.cluster.agents import shared_requests, write_merged
from feedbench.cluster.assignment import Assignment, OfferingHost, assign
from feedbench.cluster.clocks import HostClock, Phase
from feedbench.cluster.connection import Cluster, RemoteHost
from feedbench.cluster.station import Built, Death, Files, Look, Started
from feedbench.errors import BusyHostError, ClusterError, HostLostError, TargetError, TooFewHostsError
from feedbench.host.pinning import Pinning
from feedbench.paths import SCHEMA, write_bytes, write_json
from feedbench.plan import Plan, Process
from feedbench.run.ceiling import Shape
from feedbench.run.engine import EngineCall
from feedbench.run.environment import Surroundings, worst_of
from feedbench.run.place import Observation, Running
from feedbench.run.resources import TreeReading
from feedbench.run.watch import Alarm, Stoppable, Watched
from feedbench.verify.verdicts import Verdicts

GATHER_RETRY_S = 0.5
LOOK_EVERY_S = 0.2
CLOCK_SAMPLES = 20
GRACE_S = 30.0  # for a call that has a time limit of its own on the host
TRANSFER_S = 300.0
# From the order until several agents begin: in which each gets it, starts its engine and opens connections.
LEAD_NS = 3_000_000_000
VERIFY_S = 600.0

Lacks = (HostLostError, TooFewHostsError, BusyHostError)


@dataclass(frozen=True)
class Wanted:
    """What a run asks of the hosts; `sources` are the hashes of its targets, by name."""

    apart: bool
    agents: int
    patience_s: float
    sources: Mapping[str, str]


@dataclass(frozen=True)
class RemoteRunning:
    """A target that answers on another host."""

    host: RemoteHost
    process: Process
    started: Started

    @property
    def start_up_ns(self) -> int:
        return self.started.start_up_ns

    @property
    def authority_file(self) -> None:
        return None

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    @property
    def processes(self) -> tuple[subprocess.Popen[bytes], ...]:
        return ()

    def url(self, path: str) -> str:
        return f"{self.started.origin}{path}"

    def cause_of_death(self) -> TargetError | None:
        death: Death | None = self.host.call("cause_of_death", self.process.id)
        return None if death is None else death.error(self.process.target)

    def reading(self) -> TreeReading:
        reading: TreeReading = self.host.call("reading", self.process.id)
        return reading

    def memory_reader(self) -> Callable[[], int]:
        return lambda: int(self.host.call("rss_bytes", [self.process.id])[self.process.id])


@dataclass
class ClusterPlace:
    """The hosts of one run. Who does what is decided when a block starts: `assignment` is the last.

    `stopped` tells that nobody wants to wait any more.
    """

    cluster: Cluster
    plan: Plan
    wanted: Wanted
    say: Callable[[str], None]
    stopped: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _assignment: Assignment | None = None
    _hosts: dict[str, RemoteHost] = field(default_factory=dict)
    _clocks: dict[str, HostClock] = field(default_factory=dict)
    _arrived: list[dict[str, Any]] = field(default_factory=list)
    _folder: Path | None = None

    @property
    def assignment(self) -> Assignment:
        if self._assignment is None:
            raise ClusterError("no hosts were gathered")
        return self._assignment

    @property
    def pinning(self) -> Pinning:
        """Of the plan's hosts, each with its own CPUs."""
        target, load = self.assignment.target, self.assignment.loads[0]
        return Pinning(targets=target.pinning.targets, engine=load.pinning.engine)

    def gather(self) -> None:
        """Holds the hosts that do the work; waits for them as long as the run's patience lasts."""
        give_up_s = self.clock() + self.wanted.patience_s
        told = ""
        while True:
            try:
                self._gathered()
                return
            except Lacks as error:
                if self.stopped():
                    raise HostLostError(error.what, where=error.where, hint=error.hint) from error
                if self.clock() >= give_up_s:
                    raise ClusterError(
                        f"{error.what}; waited for {self.wanted.patience_s:g} s",
                        where=error.where,
                        hint=f"{error.hint + '; ' if error.hint else ''}feedbench run RUN_DIR goes on",
                    ) from error
                if str(error) != told:
                    told = str(error)
                    self.say(f"waiting: {told}")
                self.sleep(GATHER_RETRY_S)

    def close(self) -> None:
        self.cluster.close()

    def verify(self, target: str) -> Verdicts:
        """Puts a target through the echo cases, on its host."""
        verdicts: Verdicts = self._target.call("verify", target, timeout_s=VERIFY_S)
        return verdicts

    @contextmanager
    def block(self, folder: Path, index: int) -> Iterator[None]:
        """Holds the hosts; their clocks are asked before and after, and all that arrived is counted."""
        self.gather()
        self._arrived, self._folder = [], folder
        self._sample("before")
        yield
        self._sample("after")
        for name, host_clock in self._clocks.items():
            write_json(folder / "clocks" / f"{name}.json", host_clock.document())
        write_json(folder / "arrived.json", {"schema": SCHEMA, "block": index, "files": self._arrived})

    def used(self) -> Mapping[str, Any]:
        return {"target": self.assignment.target.name, "load": [host.name for host in self.assignment.loads]}

    @contextmanager
    def serve(self, process: Process, *, log: Path, deadline_s: float) -> Iterator[Running]:
        self._glance()  # a host that has nothing to do yet is to know that we live
        host = self._target
        sha256 = self.wanted.sources[process.target]
        limit_s = GRACE_S + deadline_s
        started: Started | Death = host.call(
            "start", process.id, process.target, sha256, dict(process.knobs), deadline_s, timeout_s=limit_s
        )
        if isinstance(started, Death):
            with suppress(HostLostError):
                self._keep_logs(host, log, host.call("stop", process.id))
            raise started.error(process.target)
        try:
            yield RemoteRunning(host, process, started)
        except BaseException:
            # The first error is the one to tell; a station ends what is left when it is held anew.
            with suppress(ClusterError):
                self._keep_logs(host, log, host.call("stop", process.id))
            raise
        self._keep_logs(host, log, host.call("stop", process.id))

    def call_engine(
        self,
        request: Mapping[str, Any],
        *,
        request_file: Path,
        log: Path,
        bystanders: Mapping[str, subprocess.Popen[bytes]],
        interruption: Stoppable,
        deadline_ns: int,
        alarm: Alarm | None,
        tick: Callable[[], None],
    ) -> EngineCall:
        """Drives from the load hosts. Nobody's death is waited for: an engine sees a target end by itself."""
        hosts = self._loads
        several = len(hosts) > 1
        portable, payloads = _portable(request)
        # By way of the controller, which is hardly shorter than the path that the load takes.
        path_ns = self._round_trip_ns(self._target) + max(self._round_trip_ns(host) for host in hosts)
        shares = shared_requests(portable, len(hosts), path_ns=path_ns) if several else [portable]
        offsets_ns = {host.name: self._clocks[host.name].offset_ns() for host in hosts if several}
        begin_ns = time.monotonic_ns() + LEAD_NS
        for host, share in zip(hosts, shares, strict=True):
            timed = {**share, "start_at_ns": begin_ns + offsets_ns[host.name]} if several else share
            host.call("start_load", timed, payloads, deadline_ns, timeout_s=TRANSFER_S)
        wait_ns = max(0, begin_ns - time.monotonic_ns()) if several else 0
        self._wait(hosts, interruption=interruption, alarm=alarm, tick=tick, lead_ns=wait_ns)
        folders = {Path(target["directory"]).name: Path(target["directory"]) for target in request["targets"]}
        calls = []
        for host in hosts:
            outcome, files = host.call("finish_load", timeout_s=TRANSFER_S)
            calls.append((host.name, outcome.call()))
            own = (
                {name: path / "agents" / host.name for name, path in folders.items()} if several else folders
            )
            mark = f"@{host.name}" if several else ""
            self._keep_results(
                host, files, own, request_file=_marked(request_file, mark), log=_marked(log, mark)
            )
        if several:
            uncertain_ns = sum(self._round_trip_ns(host) for host in hosts) // 2
            for folder in folders.values():
                write_merged(folder, offsets_ns, turn_ns=_turn_ns(request), uncertain_ns=uncertain_ns)
        return _together(calls)

    @contextmanager
    def observed(self, *, awake: bool) -> Iterator[Observation]:
        """On every host of the block; what the gates judge is the worst of them."""
        hosts = [self._hosts[host.name] for host in self.assignment.hosts]
        kept = [bool(host.call("begin_observing", awake=awake)) for host in hosts]
        observation = Observation(all(kept))
        yield observation
        each: dict[str, Surroundings] = {host.name: host.call("end_observing") for host in hosts}
        # Hosts count their targets themselves, so what is told of them is not added again.
        observation.close(lambda targets_cpu_ns: worst_of(each))

    def ceiling(self, wanted: Sequence[Shape], *, awake: bool, tick: Callable[[], None]) -> dict[str, Any]:
        """The load host's own: what no generator there can exceed, whatever lies before the target."""
        self.gather()
        tick()
        shapes = [tuple(shape) for shape in wanted]
        document: dict[str, Any] = self._loads[0].call(
            "ceiling", shapes, awake=awake, timeout_s=GRACE_S + 10.0 * len(shapes)
        )
        return document

    # Within.

    @property
    def _target(self) -> RemoteHost:
        return self._hosts[self.assignment.target.name]

    @property
    def _loads(self) -> list[RemoteHost]:
        return [self._hosts[host.name] for host in self.assignment.loads]

    def _round_trip_ns(self, host: RemoteHost) -> int:
        """The shortest that was seen in this block."""
        return self._clocks[host.name].best.round_trip_ns

    def _gathered(self) -> None:
        hosts = self.cluster.hosts()
        able = self._able(hosts)
        preferred = {self.plan.processes[0].host, *self.plan.loaders}
        self._assignment = assign(
            able, apart=self.wanted.apart, agents=self.wanted.agents, preferred=preferred
        )
        self._hosts = {host.name: hosts[host.name] for host in self._assignment.hosts}
        for host in self._hosts.values():
            host.check()
            host.hold()
        self._clocks = {name: HostClock(name, host.sheet.discipline) for name, host in self._hosts.items()}

    def _able(self, hosts: Mapping[str, RemoteHost]) -> list[OfferingHost]:
        """Without those that would be targets' hosts and have not built the run's targets, by hash."""
        able: list[OfferingHost] = []
        for name, host in hosts.items():
            offering = host.sheet.host
            strange = self._strange(host) if "target" in offering.offers else None
            if strange is None:
                able.append(offering)
            elif name == self.plan.processes[0].host:
                raise ClusterError(
                    f"refused: it has not built {strange} with hash {self.wanted.sources[strange][:12]}",
                    where=name,
                    hint=f"feedbench build {strange} there, from the same sources",
                )
        return able

    def _strange(self, host: RemoteHost) -> str | None:
        """The first of the run's targets that the host has not built from the run's sources."""
        names = tuple(self.wanted.sources)
        built: dict[str, Built] = host.built(names)
        for name, sha256 in self.wanted.sources.items():
            receipt = built[name].receipt
            if receipt is None or receipt.state != "built" or receipt.sources_sha256 != sha256:
                return name
        return None

    def _wait(
        self,
        hosts: Sequence[RemoteHost],
        *,
        interruption: Stoppable,
        alarm: Alarm | None,
        tick: Callable[[], None],
        lead_ns: int,
    ) -> None:
        """Until all engines have ended. A glance samples the host's clock, and tells it that we live.

        The load begins after `lead_ns`, and the alarm counts from there.
        """
        started_ns = time.monotonic_ns()
        interrupted = False
        while True:
            looks = self._glance()
            if all(looks[host.name].engine_ended for host in hosts):
                return
            if interruption.asked and not interrupted:
                interrupted = True
                for host in hosts:
                    host.call("interrupt_load")
            if alarm is not None and time.monotonic_ns() - started_ns >= lead_ns + alarm.at_ns:
                alarm.action()
                alarm = None
            tick()
            self.sleep(LOOK_EVERY_S)

    def _glance(self) -> dict[str, Look]:
        looks = {}
        for name, host in self._hosts.items():
            looks[name], sample = host.look()
            self._clocks[name].add("during", sample)
        return looks

    def _sample(self, phase: Phase) -> None:
        for name, host in self._hosts.items():
            for _ in range(CLOCK_SAMPLES):
                self._clocks[name].add(phase, host.look()[1])

    def _keep_results(
        self, host: RemoteHost, files: Files, folders: Mapping[str, Path], *, request_file: Path, log: Path
    ) -> None:
        for name, content in files.items():
            cell, _, file = name.partition("/")
            if file:
                self._keep(host, folders[cell] / file, content)
            else:
                self._keep(host, {"request.json": request_file, "engine.log": log}[name], content)

    def _keep_logs(self, host: RemoteHost, log: Path, files: Files) -> None:
        for name, content in files.items():
            self._keep(host, log.with_name(name), content)

    def _keep(self, host: RemoteHost, path: Path, content: bytes) -> None:
        """Writes a file whole, and notes it."""
        write_bytes(path, content)
        folder = self._folder
        if folder is not None and path.resolve().is_relative_to(folder.resolve()):
            self._arrived.append(
                {
                    "path": path.resolve().relative_to(folder.resolve()).as_posix(),
                    "host": host.name,
                    "bytes": len(content),
                    "sha256": hashlib.sha256(content).hexdigest(),
                }
            )


def _marked(path: Path, mark: str) -> Path:
    """`all.engine.log` of one agent among several: `all@b.engine.log`."""
    first, dot, rest = path.name.partition(".")
    return path.with_name(f"{first}{mark}{dot}{rest}") if mark else path


def _turn_ns(request: Mapping[str, Any]) -> int:
    return int(request["slice_ns"] or request["warmup_ns"] + request["measure_ns"])


def _together(calls: Sequence[tuple[str, EngineCall]]) -> EngineCall:
    """As if one engine had been called: what went wrong with any of them went wrong."""
    if len(calls) == 1:
        return calls[0][1]
    troubles = [f"{host}: {call.trouble}" for host, call in calls if call.trouble]
    watched = Watched(
        overdue=any(call.watched.overdue for _, call in calls),
        interrupted=any(call.watched.interrupted for _, call in calls),
        wall_ns=max(call.watched.wall_ns for _, call in calls),
    )
    return EngineCall(watched, max(call.run_delay_ns for _, call in calls), "; ".join(troubles) or None)


def _portable(request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The request without this machine's paths, and the files that it names."""
    payloads: dict[str, bytes] = {}
    targets = []
    for target in request["targets"]:
        file = target["payload"].get("file")
        if file is not None and file not in payloads:
            payloads[file] = Path(file).read_bytes()
        targets.append({**target, "directory": Path(target["directory"]).name})
    return {**request, "targets": targets}, payloads
