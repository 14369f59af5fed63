"""Where a block's processes run: on this machine, or on hosts of a cluster. One block runner serves both."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from feedbench.errors import TargetError
from feedbench.host.awake import cpus_awake
from feedbench.host.pinning import Pinning
from feedbench.host.pressure import Pressure, other_work_share, read_pressure
from feedbench.paths import Project
from feedbench.plan import Process
from feedbench.registry import Registry
from feedbench.run.ceiling import Shape, measure_ceiling
from feedbench.run.engine import EngineCall, call_engine
from feedbench.run.environment import Surroundings, surroundings_between
from feedbench.run.resources import TreeReading, own_cpu_ns, read_tree
from feedbench.run.watch import Alarm, Stoppable
from feedbench.service import serve


class Running(Protocol):
    """A target that answers, wherever it runs; `processes` and `pids` are of this machine only."""

    @property
    def start_up_ns(self) -> int: ...

    @property
    def authority_file(self) -> Path | None: ...

    @property
    def pids(self) -> tuple[int, ...]: ...

    @property
    def processes(self) -> tuple[subprocess.Popen[bytes], ...]: ...

    def url(self, path: str) -> str: ...

    def cause_of_death(self) -> TargetError | None: ...

    def reading(self) -> TreeReading: ...

    def memory_reader(self) -> Callable[[], int]: ...


@dataclass
class Observation:
    """Counters around a round; `surroundings` may be asked when the round is over."""

    cpus_awake: bool
    _told: Callable[[int], Surroundings] | None = None

    def close(self, told: Callable[[int], Surroundings]) -> None:
        """Called once, when the round is over."""
        self._told = told

    def surroundings(self, targets_cpu_ns: int) -> Surroundings:
        """`targets_cpu_ns`: CPU time of the run's own processes that nobody has waited for yet."""
        if self._told is None:
            raise RuntimeError("the observation is not over")
        return self._told(targets_cpu_ns)


class Place(Protocol):
    """What a block runner asks for."""

    @property
    def pinning(self) -> Pinning: ...

    def block(self, folder: Path, index: int) -> AbstractContextManager[None]:
        """Around everything that one block does; within, hosts are held and their clocks watched."""

    def used(self) -> Mapping[str, Any] | None:
        """Which hosts the block ran on, for block.json; None where there is only this machine."""

    def serve(self, process: Process, *, log: Path, deadline_s: float) -> AbstractContextManager[Running]: ...

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
    ) -> EngineCall: ...

    def observed(self, *, awake: bool) -> AbstractContextManager[Observation]: ...

    def ceiling(
        self, wanted: Sequence[Shape], *, awake: bool, tick: Callable[[], None]
    ) -> dict[str, Any]: ...


@dataclass(frozen=True)
class LocalPlace:
    """This machine, at `address`."""

    registry: Registry
    project: Project
    address: str
    pinning: Pinning
    cpus_allowed: Sequence[int]

    def block(self, folder: Path, index: int) -> AbstractContextManager[None]:
        return nullcontext()

    def used(self) -> None:
        return None

    def serve(self, process: Process, *, log: Path, deadline_s: float) -> AbstractContextManager[Running]:
        return serve(
            self.registry.get(process.target),
            project=self.project,
            log=log,
            knobs=process.knobs,
            host=self.address,
            cpus=self.pinning.targets or None,
            deadline_s=deadline_s,
        )

    def call_engine(self, request: Mapping[str, Any], **options: Any) -> EngineCall:
        return call_engine(self.project.engine, request, **options)

    def observed(self, *, awake: bool) -> AbstractContextManager[Observation]:
        cpus = sorted({*self.pinning.targets, *self.pinning.engine}) or list(self.cpus_allowed)
        return observed(self.project.engine, cpus, awake=awake)

    def ceiling(self, wanted: Sequence[Shape], *, awake: bool, tick: Callable[[], None]) -> dict[str, Any]:
        with cpus_awake(self.project.engine, self.cpus_allowed, wanted=awake):
            return measure_ceiling(self.project.engine, wanted, pinning=self.pinning, tick=tick)


@contextmanager
def observed(
    engine: Path, cpus: Sequence[int], *, awake: bool, pids: Callable[[], Sequence[int]] = tuple
) -> Iterator[Observation]:
    """Keeps the CPUs awake between two looks at the machine's counters; spinners have ended by the second.

    `pids` are processes of the run whose CPU time is to count as its own, besides what is told afterwards.
    """
    own_before_ns, trees_before_ns = own_cpu_ns(), read_tree(*pids()).cpu_ns
    before = read_pressure()
    with cpus_awake(engine, cpus, wanted=awake) as kept:
        observation = Observation(kept)
        yield observation
        trees_ns = max(0, read_tree(*pids()).cpu_ns - trees_before_ns)
    after = read_pressure()
    own_ns = own_cpu_ns() - own_before_ns + trees_ns

    def told(targets_cpu_ns: int) -> Surroundings:
        return _surroundings(before, after, cpus, own_ns + targets_cpu_ns, kept)

    observation.close(told)


def _surroundings(
    before: Pressure, after: Pressure, cpus: Sequence[int], own_ns: int, kept: bool
) -> Surroundings:
    other = other_work_share(before, after, cpus=cpus, own_cpu_ns=own_ns)
    return surroundings_between(before, after, other_work_share=other, cpus_awake=kept)
