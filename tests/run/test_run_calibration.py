"""Rates that are shares of a capacity: what is measured, once and for whom, and what becomes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from laboratory import Laboratory, MakeLaboratory

from feedbench.capacity.probe import Probe
from feedbench.errors import EngineError
from feedbench.load import CapacityShare, Load, Poisson
from feedbench.plan import Cell, Condition, Plan
from feedbench.run.block import run_block
from feedbench.run.calibration import calibrate
from feedbench.run.interruption import Interruption
from feedbench.run.offered import load_of

pytestmark = pytest.mark.end_to_end


def sharing(plan: Plan, *shares: float) -> Plan:
    """The plan with its conditions driven at these shares of the capacity."""

    def changed(condition: Condition, share: float) -> Condition:
        return replace(condition, load=replace(condition.load, pacer=CapacityShare("poisson", share)))

    pairs = zip(plan.conditions, shares, strict=True)
    return replace(plan, conditions=tuple(changed(condition, share) for condition, share in pairs))


class Capacities:
    """Stands in for the measuring: 1,000 messages/s for each connection; counts how often it is asked."""

    def __init__(self, failing: int = 0) -> None:
        self.asked: list[Load] = []
        self.failing = failing

    def __call__(self, probe: Probe) -> float:
        self.asked.append(probe.load)
        if probe.load.connections == self.failing:
            raise EngineError("it can't be measured: planted", where=probe.url)
        return 1000.0 * probe.load.connections


def by_connections(lab: Laboratory, connections: int) -> list[Cell]:
    return [cell for cell in lab.plan.cells if cell.factors["connections"] == connections]


def test_each_process_is_asked_once_a_run_and_copies_get_the_rate_of_their_original(
    laboratory: MakeLaboratory,
) -> None:
    lab = laboratory()
    lab.plan = sharing(lab.plan, 0.5, 0.25)
    capacities = Capacities()
    with Interruption() as interruption:
        context = lab.context(interruption)
        offered = calibrate(context, capacities)
        assert calibrate(context, capacities) == offered, "a run that goes on reads what stands"
    assert sorted(load.connections for load in capacities.asked) == [1, 4], "not the sentinel"
    assert {cell.copy for cell in lab.plan.cells} == {None, "sentinel"}
    assert {offered[cell.id].rate_per_s for cell in by_connections(lab, 1)} == {500.0}
    assert {offered[cell.id].rate_per_s for cell in by_connections(lab, 4)} == {1000.0}
    cell = by_connections(lab, 4)[0]
    assert load_of(lab.plan, cell, offered).pacer == Poisson(1000.0)
    assert json.loads(lab.directory.capacity.read_text())["cells"][cell.id]["capacity_per_s"] == 4000.0


def test_without_shares_nothing_is_measured(laboratory: MakeLaboratory) -> None:
    lab = laboratory()
    with Interruption() as interruption:
        assert calibrate(lab.context(interruption), Capacities()) == {}
    assert not lab.directory.capacity.exists()


def test_a_capacity_that_cannot_be_had_costs_only_its_own_cells(laboratory: MakeLaboratory) -> None:
    lab = laboratory()
    lab.plan = sharing(lab.plan, 0.5, 0.5)
    with Interruption() as interruption:
        context = lab.context(interruption)
        context = replace(context, offered=calibrate(context, Capacities(failing=4)))
        assert run_block(context, lab.plan.blocks[0]) is not None
    statuses = lab.statuses()
    assert {statuses[cell.id]["verdict"] for cell in by_connections(lab, 1)} == {"ok"}
    failed = [statuses[cell.id] for cell in by_connections(lab, 4)]
    assert {status["verdict"] for status in failed} == {"failed"}
    assert {status["cause"] for status in failed} == {
        "its capacity is not known: it can't be measured: planted"
    }
    request = json.loads(next(Path(lab.directory.block(0)).glob("logs/*=1.request.json")).read_text())
    assert {target["pacer"]["rate_per_s"] for target in request["targets"]} == {500.0}


def test_a_process_that_does_not_start_has_no_capacity(laboratory: MakeLaboratory) -> None:
    lab = laboratory(knobs='start = "unsupported"')
    lab.plan = sharing(lab.plan, 0.5, 0.5)
    with Interruption() as interruption:
        offered = calibrate(lab.context(interruption), Capacities())
    assert all(entry.rate_per_s is None and "support" in str(entry.cause) for entry in offered.values())
