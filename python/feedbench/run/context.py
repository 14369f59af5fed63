"""What every block of a run shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from feedbench.host.pinning import Pinning
from feedbench.host.shield import Shield
from feedbench.paths import Project, RunDirectory
from feedbench.plan import Block, Cell, Plan
from feedbench.registry import Registry
from feedbench.run.fleet import Fleet
from feedbench.run.offered import Offered
from feedbench.run.place import LocalPlace, Place
from feedbench.run.watch import Stoppable


@dataclass(frozen=True)
class Context:
    """`left_out` says, by target, why it is not timed; `told` is given what is being done, `tick` is called
    each second. `offered`, by cell, are the rates that shares of a capacity came to. `remote` are the hosts
    of a cluster, None where everything runs on this machine.
    """

    plan: Plan
    registry: Registry
    project: Project
    directory: RunDirectory
    pinning: Pinning
    shield: Shield
    interruption: Stoppable
    left_out: Mapping[str, str]
    told: Callable[[str], None]
    tick: Callable[[], None]
    cpus_allowed: Sequence[int]
    ready_deadline_s: float = 30.0
    offered: Mapping[str, Offered] = field(default_factory=dict)
    remote: Place | None = None

    @property
    def place(self) -> Place:
        """Where the block's processes run."""
        return self.remote or LocalPlace(
            self.registry, self.project, self.plan.hosts[0].address, self.pinning, self.cpus_allowed
        )

    @property
    def engine(self) -> Path:
        return self.project.engine

    def folder(self, block: Block, cell_id: str) -> Path:
        """The cell's folder, made if need be."""
        folder = self.directory.cell(block.index, cell_id)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def logs(self, block: Block) -> Path:
        """The block's folder of logs, made if need be."""
        folder = self.directory.block(block.index) / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def url(self, fleet: Fleet, cell: Cell) -> str:
        """Where the cell's process answers."""
        return fleet.running[cell.process].url(self.plan.condition(cell.condition).load.path)
