"""Clients crossed with servers, from a scenario's plan and the values of its cells to a finding."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from feedbench.analyze.cells import CellValues
from feedbench.analyze.controls import judge_sentinels
from feedbench.analyze.crossing import find_crossings
from feedbench.analyze.questions import answer
from feedbench.findings import CrossingFinding
from feedbench.plan import Plan
from feedbench.planner import make_plan
from feedbench.typed_json import from_json, to_json
from planning import DELAY, make_registry, make_target, scenario_from

SCENARIO = """\
schema = 1
name = "crossed"
title = "Crossed"
question = "Whose is it?"
analysis = "None."
targets = ["node/ws", "python/tornado", "python/websockets"]
reference = "node/ws"
control = { target = "node/ws", delay = "50us" }
protocol = { blocks = 11, slice = "none", quantiles = ["p50"] }
[factors]
client = ["own", "engine", "python/tornado", "python/websockets"]
connections = [1, 8]
"""
CLIENTS = {"engine": 30_000, "python/tornado": 90_000, "python/websockets": 120_000}
SERVERS = {"node/ws": 1.0, "python/tornado": 1.5, "python/websockets": 2.0}


def plan_of(folder: Path) -> Plan:
    registry = make_registry(
        make_target("node/ws", knobs=DELAY),
        make_target("python/tornado", knobs=DELAY, echo_client=True),
        make_target("python/websockets", knobs=DELAY, echo_client=True),
    )
    return make_plan(scenario_from(SCENARIO, folder, registry=registry), registry)


def values_of(plan: Plan, *, hindered: float = 1.0, without: str | None = None) -> dict[str, CellValues]:
    """Latency is client × server × block × 1 % of chance; python/websockets' client finds Tornado `hindered`
    times as slow; the cells of the server `without` were measured in two blocks only.
    """
    random = np.random.default_rng(1)
    weather = np.exp(random.normal(0, 0.1, 11))
    found = {}
    for cell in plan.cells:
        client = plan.condition(cell.condition).load.client
        typical = CLIENTS[cell.target if client == "own" else client] * SERVERS[cell.target]
        if (client, cell.target) == ("python/websockets", "python/tornado"):
            typical *= hindered
        blocks = 2 if cell.target == without else 11
        noise = np.exp(random.normal(0, 0.01, 11))
        by_block = {block: round(typical * weather[block] * noise[block]) for block in range(blocks)}
        found[cell.id] = CellValues({"p50": by_block}, {}, None, None)
    return found


def crossings(plan: Plan, values: dict[str, CellValues]) -> tuple[CrossingFinding, ...]:
    sentinels = judge_sentinels(plan, values)
    questions = [answer(plan, question, values, sentinels, []) for question in plan.questions]
    return find_crossings(plan, values, questions)


def test_a_crossing_for_each_number_of_connections_tells_whose_the_difference_is(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    found = crossings(plan, values_of(plan))
    assert [crossing.fixed for crossing in found] == [{"connections": 1}, {"connections": 8}]
    one = found[0]
    assert one.withheld is None
    assert (one.clients, one.servers, one.blocks) == (tuple(CLIENTS), tuple(SERVERS), 11)
    ratios = {effect.name: effect.ratio for effect in one.server_effects}
    assert ratios["python/websockets"] / ratios["node/ws"] == pytest.approx(2.0, rel=0.01)
    claimed = {part.part for part in one.parts if part.found}
    assert claimed == {"client", "server"}


def test_the_difference_of_own_pairs_is_divided_between_server_and_client(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    (pair,) = crossings(plan, values_of(plan))[0].own_pairs
    assert pair.pair == ("python/tornado", "python/websockets")
    assert pair.server == pytest.approx(1.5 / 2.0, rel=0.01)
    assert pair.client == pytest.approx(90 / 120, rel=0.01)
    assert math.log(pair.ratio) == pytest.approx(math.log(pair.server) + math.log(pair.client))
    assert pair.interaction_interval[0] < 1 < pair.interaction_interval[1]


def test_a_pairing_that_gets_in_its_own_way_is_an_interaction(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one = crossings(plan, values_of(plan, hindered=1.2))[0]
    assert {part.part for part in one.parts if part.found} == {"client", "server", "interaction"}
    (pair,) = one.own_pairs
    assert pair.interaction == pytest.approx(1 / 1.2, rel=0.01)


def test_what_was_hardly_measured_is_left_out_by_name(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one = crossings(plan, values_of(plan, without="python/tornado"))[0]
    assert one.servers == ("node/ws", "python/websockets")
    assert one.left_out == ("server python/tornado: 3 of its cells have fewer than 7 blocks",)
    assert one.withheld is None


def test_where_every_block_was_lost_nothing_is_split(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    lost = {cell.id: CellValues({"p50": {}}, {}, None, None) for cell in plan.cells}
    one = crossings(plan, lost)[0]
    assert (one.blocks, one.typical_ns, one.parts) == (0, (), ())
    assert one.withheld is not None


def test_blocks_that_hold_less_than_every_pairing_do_not_count(tmp_path: Path) -> None:
    """Each cell has ten blocks, but no more than six hold all of them: too few for any part to be shown."""
    plan = plan_of(tmp_path)
    values = values_of(plan)
    for place, (cell, own) in enumerate(sorted(values.items())):
        kept = {block: value for block, value in own.quantiles["p50"].items() if block != place % 5}
        values[cell] = CellValues({"p50": kept}, {}, None, None)
    one = crossings(plan, values)[0]
    assert one.blocks == 6
    assert one.withheld == "6 blocks hold every pairing; it takes 7 before any part could be shown"


def test_after_a_failed_sentinel_nothing_is_split(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    values = values_of(plan)
    question = next(question for question in plan.questions if question.fixed["client"] == "engine")
    assert question.sentinel is not None
    slow = question.sentinel[1]
    twice = {block: 2 * value for block, value in values[slow].quantiles["p50"].items()}
    values[slow] = CellValues({"p50": twice}, {}, None, None)
    for one in crossings(plan, values):
        assert one.withheld is not None
        assert question.id in one.withheld
        assert (one.parts, one.client_effects, one.server_effects, one.own_pairs) == ((), (), (), ())


def test_one_client_makes_no_crossing(tmp_path: Path) -> None:
    registry = make_registry(
        make_target("node/ws", knobs=DELAY), make_target("python/tornado", knobs=DELAY, echo_client=True)
    )
    lone = SCENARIO.replace(', "python/websockets"]\nreference', "]\nreference").replace(
        'client = ["own", "engine", "python/tornado", "python/websockets"]', 'client = ["own", "engine"]'
    )
    plan = make_plan(scenario_from(lone, tmp_path, registry=registry), registry)
    assert crossings(plan, values_of(plan)) == ()


def test_a_crossing_comes_back_from_its_json(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one = crossings(plan, values_of(plan))[0]
    assert from_json(CrossingFinding, to_json(one)) == one
