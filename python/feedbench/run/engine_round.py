"""A round driven by the engine: one call, all its cells in slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from feedbench.errors import RunDirectoryError
from feedbench.paths import read_json
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.run.context import Context
from feedbench.run.fleet import Fleet
from feedbench.run.measured import INTERRUPTED, Measured, MemoryWhileConnected, read_servers
from feedbench.run.offered import load_of
from feedbench.run.request import connected_after_ns, deadline_ns, engine_request
from feedbench.run.resources import Usage
from feedbench.run.status import Outcome, judge_load


def measure_by_engine(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> None:
    """Calls the engine for `cells`, whose processes all run."""
    plan = context.plan
    folders = {cell.id: context.folder(block, cell.id) for cell in cells}
    process_ids = [cell.process for cell in cells]
    memory = MemoryWhileConnected({name: fleet.running[name] for name in process_ids})
    before = read_servers(fleet.running, process_ids)
    held = {name: _connections(plan, cells, name) for name in process_ids}
    comparable = {name: fleet.comparable(name, connections) for name, connections in held.items()}
    call = context.place.call_engine(
        engine_request(
            plan,
            block,
            round_,
            loads={cell.id: load_of(plan, cell, context.offered) for cell in cells},
            urls={cell.id: context.url(fleet, cell) for cell in cells},
            authorities={cell.id: fleet.running[cell.process].authority_file for cell in cells},
            folders=folders,
            cpu=context.pinning.engine_cpu,
            root=context.project.root,
        ),
        request_file=context.logs(block) / f"{round_.id}.request.json",
        log=context.logs(block) / f"{round_.id}.engine.log",
        bystanders=fleet.processes(process_ids),
        interruption=context.interruption,
        deadline_ns=deadline_ns(plan, cells),
        alarm=memory.alarm(connected_after_ns(plan.protocol, len(cells))),
        tick=context.tick,
    )
    fleet.bury()
    after = read_servers(fleet.running, process_ids)
    measured.engine_run_delay_ns = call.run_delay_ns
    for name, reading in after.items():
        measured.run_delays_ns[name] = reading.run_delay_ns - before[name].run_delay_ns
        measured.targets_cpu_ns += reading.cpu_ns - before[name].cpu_ns
    shares = Counter(process_ids)
    for cell in cells:
        outcome = _outcome(context, folders[cell.id], call.trouble)
        cut_off = call.watched.interrupted and outcome.verdict == "failed"
        measured.outcomes[cell.id] = INTERRUPTED if cut_off else outcome
        if cell.process in after:
            measured.usages[cell.id] = Usage(
                before=before[cell.process],
                after=after[cell.process],
                rss_connected_bytes=memory.rss_bytes.get(cell.process),
                connections=plan.condition(cell.condition).load.connections,
                shared=shares[cell.process] > 1,
                comparable=comparable[cell.process],
            )


def _connections(plan: Plan, cells: Sequence[Cell], process: str) -> int:
    """How many connections the round's cells open to one process, all together."""
    return sum(plan.condition(cell.condition).load.connections for cell in cells if cell.process == process)


def _outcome(context: Context, folder: Path, trouble: str | None) -> Outcome:
    """From load.json if the engine got so far, else from what went wrong with the engine."""
    try:
        load: Mapping[str, Any] = read_json(folder / "load.json", needed_for="know how the cell went")
        outcome = judge_load(load, context.plan.expect)
    except (RunDirectoryError, KeyError, TypeError, ValueError, AttributeError) as error:
        return Outcome("failed", trouble or f"the engine left no usable result: {error}")
    return Outcome("failed", trouble) if trouble and outcome.verdict == "ok" else outcome
