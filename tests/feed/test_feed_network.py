"""An exchange and its clients at the two ends of a network path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_feed_doors import DOORS, SCENARIO, clients, planned
from test_feed_doors import with_clients as with_doors
from test_feed_round import PROJECT, Laboratory, verdicts

from feedbench.errors import ScenarioError
from feedbench.network_path import PathShape
from feedbench.plan import Plan
from feedbench.planner import make_plan
from feedbench.samples import read_samples
from planning import scenario_from

MILLISECOND = 1_000_000
WIDE = "delay=20ms,jitter=2ms,loss=1%,rate=100Mbit,congestion=bbr"


def test_a_network_is_read_part_by_part() -> None:
    assert PathShape.parse("none") is None
    assert PathShape.parse("delay=5ms") == PathShape(delay_ns=5 * MILLISECOND)
    assert PathShape.parse(WIDE) == PathShape(20 * MILLISECOND, 2 * MILLISECOND, 0.01, 100_000_000, "bbr")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", '"" is no part of a network'),
        ("20ms", '"20ms" is no part of a network'),
        ("delay=", '"delay=" is no part of a network'),
        ("latency=20ms", '"latency=20ms" is no part of a network'),
        ("delay=20", '"20" is not a duration'),
        ("delay=1ms,jitter=2ms", "a jitter of 2 ms is more than the delay of 1 ms"),
        ("loss=1", '"1" is no share'),
        ("rate=fast", '"fast" is no rate'),
    ],
)
def test_what_is_no_network_is_named(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        PathShape.parse(text)


def with_network(*values: str, tls: bool = False) -> str:
    named = ", ".join(f'"{value}"' for value in values)
    text = SCENARIO.format(doors=DOORS).replace("[feed]", f"[factors]\nnetwork = [{named}]\n[feed]")
    return text.replace("[feed]\n[[", f"[feed]\ntls = {str(tls).lower()}\n[[")


def test_a_network_is_a_factor_of_a_feed(tmp_path: Path) -> None:
    registry = clients()
    plan = make_plan(scenario_from(with_network("none", WIDE), tmp_path, registry=registry), registry)
    found = {condition.load.feed.path_shape for condition in plan.conditions if condition.load.feed}
    assert found == {None, PathShape.parse(WIDE)}
    assert len(plan.rounds) == 2
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("values", "tls", "told"),
    [(("none", "delay=2"), False, '"2" is not a duration'), (("delay=2ms",), True, "TLS is not spoken")],
)
def test_a_network_that_cannot_be_is_named(
    values: tuple[str, ...], tls: bool, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario_from(with_network(*values, tls=tls), tmp_path, registry=clients())
    assert told in str(error.value)


def test_without_one_nothing_changes(tmp_path: Path) -> None:
    plan = planned(DOORS, tmp_path)
    assert {condition.load.feed.network for condition in plan.conditions if condition.load.feed} == {"none"}


@pytest.mark.end_to_end
@pytest.mark.skipif(
    os.geteuid() != 0
    or not Path("/dev/net/tun").exists()
    or not PROJECT.exchange.exists()
    or not PROJECT.path_emulator.exists(),
    reason="it takes root, /dev/net/tun, and the built exchange and path to lay a network",
)
def test_no_event_is_younger_than_the_network_and_no_question_quicker_than_twice_that(
    tmp_path: Path,
) -> None:
    """Least times, which hold on any machine: what they are beyond that is the machine's."""
    registry, targets = with_doors()
    tail = DOORS.split("\n", 2)[2]
    exchange = {"personality": "binance", "path": "/ws/btcusdt@trade", "subscribe": ""}
    more = f'{tail}\n[factors]\nnetwork = ["delay=30ms,loss=1%"]'
    laboratory = Laboratory(tmp_path, registry, targets, design="sliced", more=more, **exchange)
    statuses = laboratory.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    for cell in statuses:
        load = laboratory.read(cell, "load.json")
        # The kernel's TCP sends again what the network loses; a poller is sent nothing that could be lost.
        assert load.get("lost_total", 0) == 0
        records = read_samples(laboratory.directory.cell(0, cell) / "samples.fbs").records
        assert len(records) > 0
        least_ns = 60 * MILLISECOND if load["door"] == "rest" else 30 * MILLISECOND
        # Of a poller, sent is when it asked; of a listener, when the exchange sent.
        assert int((records["received_ns"] - records["sent_ns"]).min()) >= least_ns
