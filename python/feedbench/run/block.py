"""One block: fresh processes of everything, measured side by side, and then all of them ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import RunDirectoryError
from feedbench.paths import SCHEMA, RunDirectory, read_json, write_json
from feedbench.plan import Block
from feedbench.run.context import Context
from feedbench.run.fleet import Fleet
from feedbench.run.interruption import Interrupted
from feedbench.run.round import run_round, skip_round


@dataclass(frozen=True)
class BlockRecord:
    """block.json, which stands only in a block that is whole; times are unix ns. `hosts` says which ones of a
    cluster it ran on.
    """

    index: int
    started_unix_ns: int
    ended_unix_ns: int
    hosts: Mapping[str, Any] | None = None

    @property
    def duration_ns(self) -> int:
        return self.ended_unix_ns - self.started_unix_ns


def run_block(context: Context, block: Block) -> BlockRecord | None:
    """Measures the block; None when it was interrupted, with a status for every cell all the same."""
    started_unix_ns = time.time_ns()
    context.directory.block(block.index).mkdir(parents=True)
    place = context.place
    with (
        place.block(context.directory.block(block.index), block.index),
        _fleet(context, block) as fleet,
    ):
        if context.plan.is_of_feeds:
            fleet.leave_out(block.start_order, context.left_out)
        else:
            _start(context, block, fleet)
        for round_id in block.round_order:
            round_ = context.plan.round(round_id)
            if context.interruption.asked:
                skip_round(context, block, round_)
            else:
                run_round(context, block, round_, fleet)
        if context.plan.is_of_feeds:
            _write_starts(context, block, fleet)
    if context.interruption.asked:
        return None
    record = BlockRecord(block.index, started_unix_ns, time.time_ns(), place.used())
    document = {name: value for name, value in asdict(record).items() if value is not None}
    write_json(_record_file(context.directory, block.index), {"schema": SCHEMA, **document})
    return record


def _fleet(context: Context, block: Block) -> Fleet:
    return Fleet(
        plan=context.plan,
        registry=context.registry,
        project=context.project,
        directory=context.directory,
        block=block.index,
        cpus=context.pinning.targets,
        ready_deadline_s=context.ready_deadline_s,
        place=context.place,
    )


def _start(context: Context, block: Block, fleet: Fleet) -> None:
    try:
        with context.interruption.raising():
            fleet.start(block.start_order, left_out=context.left_out, told=context.told)
    except Interrupted:
        context.told("interrupted while starting")
    _write_starts(context, block, fleet)


def _write_starts(context: Context, block: Block, fleet: Fleet) -> None:
    """Of feed clients, which are started in each round, the last one's."""
    write_json(
        context.directory.starts(block.index),
        {
            "schema": SCHEMA,
            "block": block.index,
            "processes": {name: asdict(start) for name, start in fleet.starts.items()},
        },
    )


def read_block(directory: RunDirectory, index: int) -> BlockRecord | None:
    """The record of a whole block; None when the block is missing or was cut off."""
    path = _record_file(directory, index)
    if not path.exists():
        return None
    document = read_json(path, needed_for="know which blocks are whole")
    try:
        started_unix_ns, ended_unix_ns = int(document["started_unix_ns"]), int(document["ended_unix_ns"])
        return BlockRecord(index, started_unix_ns, ended_unix_ns, document.get("hosts"))
    except (KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(f"this is no block record ({error})", where=str(path)) from error


def set_aside(directory: RunDirectory, index: int) -> Path | None:
    """Moves a block that was cut off out of the way, keeping all it had; None when there was none."""
    folder = directory.block(index)
    if not folder.exists():
        return None
    attempt = 1
    while (aside := folder.with_name(f"{index}.interrupted-{attempt}")).exists():
        attempt += 1
    return folder.rename(aside)


def _record_file(directory: RunDirectory, index: int) -> Path:
    return directory.block(index) / "block.json"
