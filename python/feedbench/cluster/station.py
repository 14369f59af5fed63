"""What one host does for a run: starts targets, calls the engine, reads counters. Knows nothing of Dask.

A station serves one run at a time, known by a token. Who holds it must be heard from: when nobody asks for
anything for some seconds the run's controller is gone, and all that was started for it is ended.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedbench import __version__
from feedbench.build import sources_sha256
from feedbench.clock_offset.discipline import read_discipline
from feedbench.cluster.assignment import OfferingHost
from feedbench.cluster.clocks import discipline_document
from feedbench.cluster.remote_load import RemoteLoad
from feedbench.errors import BusyHostError, ClusterError, HostLostError, TargetError
from feedbench.host.awake import cpus_awake
from feedbench.host.facts import read_facts
from feedbench.host.pinning import Pinning
from feedbench.launch import UnsupportedError
from feedbench.needs import missing_need
from feedbench.paths import Project
from feedbench.receipt import Receipt
from feedbench.registry import State, discover, read_latest_receipt, target_state
from feedbench.run.ceiling import Shape, measure_ceiling
from feedbench.run.environment import Surroundings
from feedbench.run.examined import examine_target
from feedbench.run.place import Observation, observed
from feedbench.run.resources import TreeReading, read_rss_bytes, read_tree, tree
from feedbench.service import Service, serve
from feedbench.verify.verdicts import Verdicts

# Longer than any call to another host may keep the controller busy.
LEASE_S = 120.0

Files = dict[str, bytes]


@dataclass(frozen=True)
class Sheet:
    """What a host says of itself when a run begins. `facts` are doctor's, `discipline` keeps its clock."""

    host: OfferingHost
    version: str
    facts: Mapping[str, Any]
    discipline: Mapping[str, Any]


@dataclass(frozen=True)
class Built:
    """A target as this host has it: its state, and the receipt of its own build, if there is one."""

    state: State
    receipt: Receipt | None


@dataclass(frozen=True)
class Started:
    """A target that answers at its host's address."""

    origin: str
    start_up_ns: int
    rss_bytes: int


@dataclass(frozen=True)
class Death:
    """Why a target is gone."""

    what: str
    hint: str | None
    unsupported: bool

    @classmethod
    def of(cls, error: TargetError) -> Death:
        return cls(error.what, error.hint, isinstance(error, UnsupportedError))

    def error(self, target: str) -> TargetError:
        kind = UnsupportedError if self.unsupported else TargetError
        return kind(self.what, where=target, hint=self.hint)


@dataclass(frozen=True)
class Look:
    """A glance: what the clock shows, whether the engine's call has ended."""

    monotonic_ns: int
    unix_ns: int
    engine_ended: bool


@dataclass
class _Serving:
    service: Service
    stack: ExitStack
    log: Path


@dataclass
class Station:
    """`scratch` is a folder of its own, for what a block leaves until the controller has fetched it."""

    host: OfferingHost
    project: Project
    scratch: Path
    say: Callable[[str], None]
    lease_s: float = LEASE_S
    clock: Callable[[], float] = time.monotonic
    _token: str | None = None
    _heard_s: float = 0.0
    _calls: int = 0
    _serving: dict[str, _Serving] = field(default_factory=dict)
    _load: RemoteLoad | None = None
    _observation: ExitStack = field(default_factory=ExitStack)
    _observed: Observation | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def pinning(self) -> Pinning:
        return self.host.pinning

    # Whose it is.

    def sheet(self) -> Sheet:
        """What this host is."""
        return Sheet(
            host=self.host,
            version=__version__,
            facts=read_facts().document(),
            discipline=discipline_document(read_discipline()),
        )

    def hold(self, token: str) -> None:
        """Makes the station the run's; ends what an earlier controller of it, or a dead one, left."""
        with self._lock:
            if self._token not in (None, token) and not self._lease_is_over():
                raise BusyHostError("it is measuring for another run", where=self.host.name)
            self._end_all()
            self._token, self._heard_s = token, self.clock()
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.scratch.mkdir(parents=True)

    @contextmanager
    def calling(self, token: str) -> Iterator[None]:
        """Around a call of the run's controller, which lives; HostLostError when the station is not its.

        No lease ends within a call, however long it takes.
        """
        with self._lock:
            if self._token != token:
                raise HostLostError("it is not held for this run any more", where=self.host.name)
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._heard_s = self.clock()

    def let_go(self, token: str) -> None:
        """Ends what runs; another run may have the station."""
        with self._lock:
            if self._token == token:
                self._end_all()
                self._token = None

    def expire(self) -> None:
        """Called now and then: ends what runs for a controller that is not heard from any more."""
        with self._lock:
            if self._token is not None and self._lease_is_over():
                self.say(f"nothing was heard of the run for {self.lease_s:g} s: what it left is ended")
                self._end_all()
                self._token = None

    def close(self) -> None:
        """Ends everything, whoever holds the station."""
        with self._lock:
            self._end_all()
            self._token = None
            shutil.rmtree(self.scratch, ignore_errors=True)

    def look(self) -> Look:
        ended = self._load is None or self._load.has_ended
        return Look(time.monotonic_ns(), time.time_ns(), ended)

    # Targets.

    def built(self, names: Sequence[str]) -> dict[str, Built]:
        """By target, what this host has built itself; a target that it doesn't know is missing."""
        registry = discover(self.project, probe=lambda need: None)
        known = {target.name: target for target in registry.targets}
        found = {}
        for name in names:
            if name not in known:
                found[name] = Built(State("missing", f"{self.host.name} has no such target", None), None)
                continue
            receipt = read_latest_receipt(self.project, name)
            state = target_state(known[name], receipt=receipt, probe=missing_need)
            found[name] = Built(state, receipt)
        return found

    def verify(self, target: str) -> Verdicts:
        """Puts the target through the echo cases, on this host."""
        receipt = read_latest_receipt(self.project, target)
        return examine_target(
            discover(self.project, probe=lambda need: None).get(target),
            project=self.project,
            version=None if receipt is None else receipt.version,
        )

    def start(
        self, process_id: str, target: str, sha256: str, knobs: Mapping[str, str], deadline_s: float
    ) -> Started | Death:
        """Starts a target that this host has built from just these sources, and waits until it answers."""
        self._check_sources(target, sha256)
        log = self.scratch / "logs" / f"{process_id}.log"
        stack = ExitStack()
        try:
            service = stack.enter_context(
                serve(
                    discover(self.project, probe=lambda need: None).get(target),
                    project=self.project,
                    log=log,
                    knobs=knobs,
                    host=self.host.address,
                    cpus=self.pinning.targets or None,
                    deadline_s=deadline_s,
                )
            )
        except TargetError as error:
            return Death.of(error)
        with self._lock:
            self._serving[process_id] = _Serving(service, stack, log)
        return Started(service.url(""), service.start_up_ns, read_tree(*service.pids).rss_bytes)

    def stop(self, process_id: str) -> Files:
        """Ends a target; its logs, by file name."""
        with self._lock:
            serving = self._serving.pop(process_id, None)
        if serving is not None:
            serving.stack.close()
        logs = sorted((self.scratch / "logs").glob("*.log"))
        return {log.name: log.read_bytes() for log in logs if _belongs(log, process_id)}

    def cause_of_death(self, process_id: str) -> Death | None:
        death = self._service(process_id).cause_of_death()
        return None if death is None else Death.of(death)

    def reading(self, process_id: str) -> TreeReading:
        return read_tree(*self._service(process_id).pids)

    def rss_bytes(self, process_ids: Sequence[str]) -> dict[str, int]:
        return {name: read_rss_bytes(tree(*self._service(name).pids)) for name in process_ids}

    # The surroundings of a round.

    def begin_observing(self, *, awake: bool) -> bool:
        """Reads the machine's counters, and keeps its CPUs awake until `end_observing`."""
        self._observation.close()
        cpus = self.host.cpus
        self._observed = self._observation.enter_context(
            observed(self.project.engine, cpus, awake=awake, pids=self._pids)
        )
        return self._observed.cpus_awake

    def end_observing(self) -> Surroundings:
        self._observation.close()
        if self._observed is None:
            raise HostLostError("nothing was observed", where=self.host.name)
        return self._observed.surroundings(0)

    # Load.

    def start_load(self, request: Mapping[str, Any], payloads: Mapping[str, bytes], deadline_ns: int) -> None:
        """Calls the engine; the paths of the request are placed below this host's scratch folder."""
        if self._load is not None:
            raise ClusterError("an engine runs here already", where=self.host.name)
        self._load = RemoteLoad(
            self.project.engine,
            request,
            payloads,
            folder=self.scratch / "load",
            cpu=self.pinning.engine_cpu,
            deadline_ns=deadline_ns,
        )

    def interrupt_load(self) -> None:
        if self._load is not None:
            self._load.interrupt()

    def finish_load(self) -> tuple[Any, Files]:
        """How the engine's call ended, and all that it wrote, by path below the block."""
        if self._load is None:
            raise HostLostError("no engine runs here", where=self.host.name)
        load, self._load = self._load, None
        return load.outcome(), load.files()

    def ceiling(self, shapes: Sequence[tuple[int, int, int]], *, awake: bool) -> dict[str, Any]:
        """Of this host alone, over its loopback."""
        engine = self.project.engine
        with cpus_awake(engine, self.host.cpus, wanted=awake):
            wanted = [Shape(*shape) for shape in shapes]
            return measure_ceiling(engine, wanted, pinning=self.pinning, tick=lambda: None)

    # Within.

    def _pids(self) -> list[int]:
        return [pid for serving in self._serving.values() for pid in serving.service.pids]

    def _service(self, process_id: str) -> Service:
        try:
            return self._serving[process_id].service
        except KeyError:
            raise HostLostError(f"{process_id} does not run here any more", where=self.host.name) from None

    def _check_sources(self, name: str, sha256: str) -> None:
        """Content decides: the sources here, and those that this host's build was made from."""
        target = discover(self.project, probe=lambda need: None).get(name)
        receipt = read_latest_receipt(self.project, name)
        if receipt is None or receipt.state != "built" or receipt.sources_sha256 != sha256:
            raise ClusterError(
                f"refused: it has not built {name} with hash {sha256[:12]}",
                where=self.host.name,
                hint=f"feedbench build {name} there, from the same sources",
            )
        if sources_sha256(target) != sha256:
            raise ClusterError(
                f"refused: the sources of {name} have changed since this host built it",
                where=self.host.name,
                hint=f"feedbench build {name} there",
            )

    def _lease_is_over(self) -> bool:
        return self._calls == 0 and self.clock() - self._heard_s > self.lease_s

    def _end_all(self) -> None:
        if self._load is not None:
            self._load.kill()
            self._load = None
        for serving in self._serving.values():
            serving.stack.close()
        self._serving.clear()
        self._observation.close()


def _belongs(log: Path, process_id: str) -> bool:
    """`a.log`, and `a~1.log` of a service's second process; not `a~sentinel.log`."""
    mark = log.stem.removeprefix(process_id)
    return log.stem.startswith(process_id) and (mark == "" or mark.removeprefix("~").isdigit())
