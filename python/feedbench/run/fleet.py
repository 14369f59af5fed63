"""The fresh processes of one block: started one after the other, watched, and ended together."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from types import TracebackType

from feedbench.errors import TargetError
from feedbench.host.pinning import Pinning
from feedbench.launch import UnsupportedError
from feedbench.paths import Project, RunDirectory
from feedbench.plan import Plan, Process
from feedbench.registry import Registry
from feedbench.run.place import LocalPlace, Place, Running
from feedbench.run.status import Outcome


@dataclass(frozen=True)
class Start:
    """From before a process's start to its first handshake, and its resident memory right after that."""

    start_up_ns: int
    rss_bytes: int


@dataclass
class Fleet:
    """`running` and, for those that are not, why; `starts` of those that got ready: all by process id."""

    plan: Plan
    registry: Registry
    project: Project
    directory: RunDirectory
    block: int
    cpus: Sequence[int]
    ready_deadline_s: float = 30.0
    place: Place | None = None  # None: this machine
    running: dict[str, Running] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    lost: dict[str, Outcome] = field(default_factory=dict)
    _most_connections: dict[str, int] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def start(
        self, order: Sequence[str], *, left_out: Mapping[str, str], told: Callable[[str], None]
    ) -> None:
        """Starts the processes in the order given, each until it has answered a handshake.

        A process that does not get there costs its own cells, never the others'. `left_out` holds, by target,
        why it is not to be timed at all.
        """
        self.leave_out(order, left_out)
        for process_id in order:
            process = self.plan.process(process_id)
            if process_id in self.lost:
                continue
            told(f"starting {process_id}")
            try:
                service = self._stack.enter_context(self._serve(process))
                self.running[process_id] = service
                self.starts[process_id] = Start(service.start_up_ns, service.reading().rss_bytes)
            except UnsupportedError as error:
                self.lost[process_id] = Outcome("unsupported", str(error))
            except TargetError as error:
                self.lost[process_id] = Outcome("failed", str(error))

    def leave_out(self, order: Sequence[str], left_out: Mapping[str, str]) -> None:
        """Notes those of the processes that are not to be timed."""
        for process_id in order:
            reason = left_out.get(self.plan.process(process_id).target)
            if reason is not None:
                self.lost[process_id] = Outcome("skipped", reason)

    def bury(self) -> None:
        """Notes the processes that have ended by themselves, with their exit status and last words."""
        for process_id, server in list(self.running.items()):
            death = server.cause_of_death()
            if death is not None:
                unsupported = isinstance(death, UnsupportedError)
                self.lost[process_id] = Outcome("unsupported" if unsupported else "failed", str(death))
                del self.running[process_id]

    def comparable(self, process_id: str, connections: int) -> bool:
        """Notes what a process is about to hold; whether memory then and before tells what connections cost.

        It does not in a fresh process, whose heap grows with the first traffic, ten times what connections
        take; nor in one that held as many before and may still keep their memory.
        """
        most = self._most_connections.get(process_id, 0)
        self._most_connections[process_id] = max(most, connections)
        return 0 < most < connections

    def processes(self, process_ids: Sequence[str]) -> dict[str, subprocess.Popen[bytes]]:
        """The running ones among `process_ids`."""
        return {
            name if index == 0 else f"{name}#{index}": process
            for name in process_ids
            if name in self.running
            for index, process in enumerate(self.running[name].processes)
        }

    def _serve(self, process: Process) -> AbstractContextManager[Running]:
        place = self.place or LocalPlace(
            self.registry, self.project, self.plan.hosts[0].address, Pinning(tuple(self.cpus), ()), ()
        )
        log = self.directory.log(self.block, process.id)
        return place.serve(process, log=log, deadline_s=self.ready_deadline_s)
