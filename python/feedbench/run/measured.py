"""What a round brought, before it is written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from feedbench.run.place import Running
from feedbench.run.resources import TreeReading, Usage
from feedbench.run.status import Outcome
from feedbench.run.watch import Alarm

INTERRUPTED = Outcome("skipped", "the run was interrupted before this cell was measured whole")


@dataclass
class Measured:
    """Outcomes and usages by cell id; run delays by process id. Filled as the round goes on."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    usages: dict[str, Usage] = field(default_factory=dict)
    run_delays_ns: dict[str, int] = field(default_factory=dict)
    targets_cpu_ns: int = 0
    engine_run_delay_ns: int = 0


class MemoryWhileConnected:
    """Reads the resident memory of some servers once, when told to: who belongs to their trees is looked up
    before.
    """

    def __init__(self, servers: Mapping[str, Running]) -> None:
        self._readers = {process: server.memory_reader() for process, server in servers.items()}
        self.rss_bytes: dict[str, int] = {}

    def read(self) -> None:
        """One small read per process."""
        self.rss_bytes = {process: read() for process, read in self._readers.items()}

    def alarm(self, at_ns: int | None) -> Alarm | None:
        """The alarm that takes the reading; none when there is no moment for it."""
        return None if at_ns is None else Alarm(at_ns, self.read)


def read_servers(servers: Mapping[str, Running], process_ids: Iterable[str]) -> dict[str, TreeReading]:
    """One reading for each process that runs."""
    return {name: servers[name].reading() for name in dict.fromkeys(process_ids) if name in servers}
