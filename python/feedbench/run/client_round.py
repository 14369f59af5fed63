"""A round driven by echo clients of the targets' own: one cell after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from feedbench.errors import TargetError
from feedbench.load import OWN
from feedbench.plan import Block, Cell, Round
from feedbench.run.context import Context
from feedbench.run.fleet import Fleet
from feedbench.run.measured import INTERRUPTED, Measured, MemoryWhileConnected
from feedbench.run.own_client import call_client, record
from feedbench.run.request import connected_after_ns, round_seed
from feedbench.run.resources import Usage, read_tree
from feedbench.run.status import Outcome, judge_load


def measure_by_clients(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> None:
    """Drives each of `cells` in this block's own order; a process that died costs only its own cells."""
    seed = round_seed(block, round_)
    for cell in sorted(cells, key=lambda cell: shuffled(seed, cell.id)):
        fleet.bury()
        if context.interruption.asked:
            measured.outcomes[cell.id] = INTERRUPTED
        elif cell.process in fleet.running:
            context.told(f"measuring {cell.id}")
            measured.outcomes[cell.id] = _measure(context, block, round_, cell, fleet, measured)


def shuffled(seed: int, name: str) -> int:
    """A key that sorts names into a random order, the same for everybody (Python's own hash is salted)."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8], "big")


def _measure(
    context: Context, block: Block, round_: Round, cell: Cell, fleet: Fleet, measured: Measured
) -> Outcome:
    plan = context.plan
    load = plan.condition(cell.condition).load
    server = fleet.running[cell.process]
    folder, url = context.folder(block, cell.id), context.url(fleet, cell)
    memory = MemoryWhileConnected({cell.process: server})
    before = read_tree(*server.pids)
    comparable = fleet.comparable(cell.process, load.connections)
    call = call_client(
        context.registry.get(cell.target if round_.client == OWN else round_.client),
        load,
        plan.protocol,
        url=url,
        folder=folder,
        log=context.logs(block) / f"{cell.id}.client.log",
        project=context.project,
        cpus=context.pinning.engine,
        bystanders=fleet.processes([cell.process]),
        interruption=context.interruption,
        alarm=memory.alarm(connected_after_ns(plan.protocol, 1)),
        tick=context.tick,
    )
    fleet.bury()
    if cell.process in fleet.running:
        after = read_tree(*server.pids)
        measured.usages[cell.id] = Usage(
            before=before,
            after=after,
            rss_connected_bytes=memory.rss_bytes.get(cell.process),
            connections=load.connections,
            comparable=comparable,
        )
        measured.targets_cpu_ns += after.cpu_ns - before.cpu_ns
        waited_ns = after.run_delay_ns - before.run_delay_ns
        measured.run_delays_ns[cell.process] = measured.run_delays_ns.get(cell.process, 0) + waited_ns
    if call.outcome is not None:
        return call.outcome
    try:
        document = record(
            folder,
            name=cell.id,
            url=url,
            load=load,
            protocol=plan.protocol,
            cpu=context.pinning.engine_cpu,
            cpu_ns=call.cpu_ns,
        )
    except TargetError as error:
        return Outcome("failed", str(error))
    return judge_load(document, plan.expect)
