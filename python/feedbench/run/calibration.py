"""What each process can take at most, where the plan's rates are shares of that.

Measured once a run, before the first block, in processes of their own. Once, because then all blocks repeat
one and the same experiment: measured again in each, the rate would differ from block to block and its scatter
would pass for the target's. Of their own, because a process that was driven to its limit is not the fresh
one that a block promises: its code is compiled, its heap has grown. A sentinel and a control get the rate of
the process that they are copies of: they are held against it, and under another load they could not be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from feedbench.capacity.probe import Probe, brief_capacity
from feedbench.errors import EngineError, RunDirectoryError, TargetError
from feedbench.host.awake import cpus_awake
from feedbench.load import CapacityShare, Load
from feedbench.paths import SCHEMA, read_json, write_json
from feedbench.plan import Cell, Plan
from feedbench.run.context import Context
from feedbench.run.offered import Offered
from feedbench.service import Service, serve

Measure = Callable[[Probe], float]


@dataclass(frozen=True)
class _Found:
    """A capacity, or why there is none."""

    capacity_per_s: float | None
    cause: str | None


def calibrate(context: Context, measure: Measure = brief_capacity) -> Mapping[str, Offered]:
    """By cell, what its share of the capacity comes to; read back where a run goes on.

    A process whose capacity can't be had costs its own cells. Nothing is written when it is interrupted.
    """
    wanted = _shares(context.plan)
    if not wanted:
        return {}
    if not context.directory.capacity.exists():
        offered = _measure(context, wanted, measure)
        document = {name: asdict(entry) for name, entry in offered.items()}
        write_json(context.directory.capacity, {"schema": SCHEMA, "cells": document})
    return _read(context)


def _shares(plan: Plan) -> dict[str, CapacityShare]:
    """By cell, the share that it is to be driven at."""
    pacers = {cell.id: plan.condition(cell.condition).load.pacer for cell in plan.cells}
    return {name: pacer for name, pacer in pacers.items() if isinstance(pacer, CapacityShare)}


def _measure(context: Context, wanted: Mapping[str, CapacityShare], measure: Measure) -> dict[str, Offered]:
    plan = context.plan
    originals = {name: _original(plan, plan.cell(name)) for name in wanted}
    found: dict[tuple[str, Load], _Found] = {}
    for process_id in dict.fromkeys(cell.process for cell in originals.values()):
        context.told(f"measuring the capacity of {process_id}")
        loads = {_without_rate(plan, cell): None for cell in originals.values() if cell.process == process_id}
        found |= {
            (process_id, load): entry for load, entry in _of_process(context, process_id, loads, measure)
        }
    return {
        name: _offered(pacer, found[originals[name].process, _without_rate(plan, originals[name])])
        for name, pacer in wanted.items()
    }


def _original(plan: Plan, cell: Cell) -> Cell:
    """Itself, or what it is a copy of."""
    return next(
        (
            other
            for other in plan.cells
            if other.copy is None and (other.target, other.factors) == (cell.target, cell.factors)
        ),
        cell,
    )


def _without_rate(plan: Plan, cell: Cell) -> Load:
    """Cells that differ only in their share have one capacity."""
    load = plan.condition(cell.condition).load
    return replace(load, pacer=CapacityShare("constant", 1.0))


def _of_process(
    context: Context, process_id: str, loads: Mapping[Load, None], measure: Measure
) -> Iterator[tuple[Load, _Found]]:
    target = context.plan.process(process_id).target
    if target in context.left_out:
        yield from ((load, _Found(None, context.left_out[target])) for load in loads)
        return
    try:
        with _alone(context, process_id) as service:
            for load in loads:
                context.tick()
                yield load, _capacity(context, service, load, measure)
    except TargetError as error:
        # What was measured before it died is overwritten: a server that dies under load has no capacity.
        yield from ((load, _Found(None, str(error))) for load in loads)


@contextmanager
def _alone(context: Context, process_id: str) -> Iterator[Service]:
    """The process as a block starts it, with nothing beside it, on CPUs in the state that blocks find."""
    plan = context.plan
    process = plan.process(process_id)
    host = next(host for host in plan.hosts if host.name == process.host)
    folder = context.directory.capacity.parent / "capacity"
    folder.mkdir(exist_ok=True)
    awake = cpus_awake(context.engine, context.cpus_allowed, wanted=plan.protocol.cpus_awake)
    with (
        awake,
        serve(
            context.registry.get(process.target),
            project=context.project,
            log=folder / f"{process_id}.log",
            knobs=process.knobs,
            host=host.address,
            cpus=context.pinning.targets or None,
            deadline_s=context.ready_deadline_s,
        ) as service,
    ):
        yield service


def _capacity(context: Context, service: Service, load: Load, measure: Measure) -> _Found:
    file = load.payload.file
    placed = load.payload if file is None else replace(load.payload, file=str(context.project.root / file))
    probe = Probe(
        engine=context.engine,
        url=service.url(load.path),
        load=replace(load, payload=placed),
        measure_s=0.0,  # the brief capacity has durations of its own
        warmup_s=0.0,
        cpu=context.pinning.engine_cpu,
        authority_file=service.authority_file,
    )
    try:
        return _Found(measure(probe), None)
    except EngineError as error:
        return _Found(None, error.what)


def _offered(pacer: CapacityShare, found: _Found) -> Offered:
    if found.capacity_per_s is None:
        return Offered(None, None, f"its capacity is not known: {found.cause}")
    return Offered(found.capacity_per_s, pacer.of(found.capacity_per_s).rate_per_s, None)


def _read(context: Context) -> dict[str, Offered]:
    path = context.directory.capacity
    document: Any = read_json(path, needed_for="know the rates that its shares came to")
    try:
        return {name: Offered(**entry) for name, entry in document["cells"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise RunDirectoryError(f"this is no record of capacities ({error})", where=str(path)) from error
