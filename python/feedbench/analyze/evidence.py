"""What a run left behind, read once: everything but the samples, which are read a cell at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import RunDirectoryError
from feedbench.paths import RunDirectory, read_json
from feedbench.plan import Cell, Expect, Plan, Round, read_plan

Json = Mapping[str, Any]


@dataclass(frozen=True)
class CellBlock:
    """One cell in one block. A verdict other than `ok` has a cause; its numbers take no part in anything."""

    block: int
    cell: str
    folder: Path
    verdict: str
    cause: str | None
    load: Json | None
    resources: Json | None

    @property
    def usable(self) -> bool:
        return self.verdict == "ok" and self.load is not None


@dataclass(frozen=True)
class Evidence:
    """`cells`: by cell id, then block; `environments`: by round id, then block; `starts`: by process id;
    `networks`: by how the scenario says them.

    What is missing is absent.
    """

    run: RunDirectory
    plan: Plan
    cells: Mapping[str, Mapping[int, CellBlock]]
    environments: Mapping[str, Mapping[int, Json]]
    receipts: Mapping[str, Json]
    starts: Mapping[str, Sequence[Json]]
    ceilings: tuple[Json, ...]
    networks: Mapping[str, Json]
    record: Json | None

    @property
    def blocks(self) -> tuple[int, ...]:
        """Blocks that left anything."""
        return tuple(sorted({block for blocks in self.cells.values() for block in blocks}))

    def round_of(self, cell: str) -> Round:
        return next(entry for entry in self.plan.rounds if cell in entry.cells)


def read_evidence(run: RunDirectory) -> Evidence:
    """RunDirectoryError without a plan or a single measured cell; any other gap is part of the evidence."""
    plan = read_plan(run.plan)
    cells = {cell.id: _read_cell(run, plan, cell) for cell in plan.cells}
    if not any(cells.values()):
        raise RunDirectoryError(
            "nothing was measured in this run",
            where=str(run.path),
            hint="feedbench run writes blocks/ into it",
        )
    environments = {
        entry.id: {
            block.index: environment
            for block in plan.blocks
            if (environment := _optional(run.environment(block.index, entry.id))) is not None
        }
        for entry in plan.rounds
    }
    receipts = {target: _optional(run.receipt(target)) or {} for target in plan.targets}
    ceilings = (_optional(run.ceiling) or {}).get("results", [])
    return Evidence(
        run=run,
        plan=plan,
        cells=cells,
        environments=environments,
        receipts=receipts,
        starts=_read_starts(run, plan),
        ceilings=tuple(ceilings),
        networks=(_optional(run.networks) or {}).get("networks", {}),
        record=_optional(run.path / "run.json"),
    )


def _read_starts(run: RunDirectory, plan: Plan) -> dict[str, list[Json]]:
    starts: dict[str, list[Json]] = {}
    for block in plan.blocks:
        for process, start in ((_optional(run.starts(block.index)) or {}).get("processes") or {}).items():
            starts.setdefault(process, []).append(start)
    return starts


def _optional(path: Path) -> Json | None:
    """The object in `path`; None when it is missing or was cut short (a full disk, a kill): a gap, not an
    end.
    """
    try:
        document: Json = read_json(path, needed_for="analyze the run")
    except RunDirectoryError:
        return None
    return document


def _read_cell(run: RunDirectory, plan: Plan, cell: Cell) -> dict[int, CellBlock]:
    found = {}
    for block in plan.blocks:
        folder = run.cell(block.index, cell.id)
        if folder.is_dir():
            found[block.index] = _cell_block(folder, block.index, cell.id, plan.expect)
    return found


def _cell_block(folder: Path, block: int, cell: str, expect: Expect) -> CellBlock:
    status, load = _optional(folder / "status.json"), _optional(folder / "load.json")
    verdict: str = status["verdict"] if status else "failed"
    cause: str | None = status.get("cause") if status else "no status was recorded"
    if verdict == "ok":
        cause = _broken_expectation(load, expect) if load else "the engine left no result"
        verdict = "failed" if cause else "ok"
    return CellBlock(block, cell, folder, verdict, cause, load, _optional(folder / "resources.json"))


def _broken_expectation(load: Json, expect: Expect) -> str | None:
    """Fast but wrong is no result (the scenario's `[expect]`)."""
    for name, most in asdict(expect).items():
        if load.get(name, 0) > most:
            return f"{load[name]:,} messages {name.replace('_', ' ')}, at most {most:,} expected"
    if load.get("received", 0) == 0:
        return "not one message came back while measuring"
    return None
