"""One round of a block: cells whose processes run are measured together, and each cell gets its status."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from feedbench.load import ENGINE, EXCHANGE, RELAY
from feedbench.paths import write_json
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.run.client_round import measure_by_clients
from feedbench.run.context import Context
from feedbench.run.engine_round import measure_by_engine
from feedbench.run.environment import environment_document
from feedbench.run.exchange_round import measure_by_exchange
from feedbench.run.fleet import Fleet
from feedbench.run.measured import INTERRUPTED, Measured
from feedbench.run.relay_round import measure_by_relays
from feedbench.run.request import driven_ns
from feedbench.run.status import Outcome, Status


def run_round(context: Context, block: Block, round_: Round, fleet: Fleet) -> None:
    """Measures the round and writes status.json for each of its cells, resources.json for those measured."""
    cells = cells_of(context.plan, block, round_)
    started_unix_ns = time.time_ns()
    fleet.bury()
    measured = Measured()
    for cell in cells:
        if cell.id in context.offered and (cause := context.offered[cell.id].cause) is not None:
            measured.outcomes[cell.id] = Outcome("failed", cause)
    startable = round_.client in (EXCHANGE, RELAY)  # who follows an exchange is started for each
    able = [
        cell
        for cell in cells
        if (startable or cell.process in fleet.running)
        and cell.process not in fleet.lost
        and cell.id not in measured.outcomes
    ]
    if able and not context.interruption.asked:
        context.told(f"measuring {round_.id}")
        _measure(context, block, round_, able, fleet, measured)
    fleet.bury()
    for cell in cells:
        folder = context.folder(block, cell.id)
        if cell.id in measured.usages:
            write_json(folder / "resources.json", measured.usages[cell.id].document())
        outcome = _final(cell, fleet, measured)
        ended_unix_ns = time.time_ns()
        Status(cell.id, outcome.verdict, outcome.cause, block.index, started_unix_ns, ended_unix_ns).write(
            folder
        )


def skip_round(context: Context, block: Block, round_: Round) -> None:
    """Writes the statuses of a round that an interruption left out."""
    now = time.time_ns()
    for cell in cells_of(context.plan, block, round_):
        folder = context.folder(block, cell.id)
        Status(cell.id, INTERRUPTED.verdict, INTERRUPTED.cause, block.index, now, now).write(folder)


def cells_of(plan: Plan, block: Block, round_: Round) -> list[Cell]:
    """The round's cells whose process is in this block at all."""
    cells = [plan.cell(cell_id) for cell_id in round_.cells]
    return [cell for cell in cells if cell.process in block.start_order]


def _measure(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> None:
    """The measuring itself, between two looks at the machine's counters."""
    with context.place.observed(awake=round_.cpus_awake) as observation:
        by = {ENGINE: measure_by_engine, EXCHANGE: measure_by_exchange, RELAY: measure_by_relays}.get(
            round_.client, measure_by_clients
        )
        by(context, block, round_, cells, fleet, measured)
    each_ns = driven_ns(context.plan)
    document = environment_document(
        block=block.index,
        round_id=round_.id,
        surroundings=observation.surroundings(measured.targets_cpu_ns),
        engine_run_delay_ns=measured.engine_run_delay_ns,
        run_delays_ns=measured.run_delays_ns,
        driven_ns={name: count * each_ns for name, count in Counter(cell.process for cell in cells).items()},
        shield=context.shield,
        pinning=context.pinning,
    )
    write_json(context.directory.environment(block.index, round_.id), document)


def _final(cell: Cell, fleet: Fleet, measured: Measured) -> Outcome:
    """A process that died explains its cells better than what the engine saw of it."""
    if cell.process in fleet.lost:
        return fleet.lost[cell.process]
    return measured.outcomes.get(cell.id, INTERRUPTED)
