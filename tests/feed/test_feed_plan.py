"""A scenario with a table [feed] becomes conditions of exchanges, and what it can't mean is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.errors import ScenarioError
from feedbench.feed.settings import Feed
from feedbench.load import Load, Market
from feedbench.plan import Plan
from feedbench.planner import make_plan
from feedbench.registry import Registry
from feedbench.target import Target
from planning import DELAY, make_registry, make_target, scenario_from

SCENARIO = """\
schema = 1
name = "test"
title = "A test"
question = "Which is first?"
analysis = "None."
targets = ["*/*"]
reference = "python/a"
control = { target = "python/a", delay = "20us" }
[feed]
rate = 500
[[feed.exchanges]]
personality = "gemini"
path = "/v1/marketdata/BTCUSD"
[[feed.exchanges]]
name = "trades"
personality = "binance"
path = "/ws"
subscribe = ["one", "two"]
rate = 3000
"""


def client(name: str, *, speaks: tuple[str, ...] = ("ws", "wss"), **knobs: tuple[str, ...]) -> Target:
    return replace(
        make_target(name, models=("feed",), knobs={**DELAY, **knobs}),
        roles=("client",),
        speaks=speaks,
        server_command=None,
        feed_client_command=("client",),
    )


def registry() -> Registry:
    sinks = {"sink": ("stamps", "sqlite", "none")}
    return make_registry(
        client("python/a", **sinks), client("go/b", speaks=("ws",), **sinks), make_target("c/server")
    )


def planned(text: str, folder: Path) -> Plan:
    return make_plan(scenario_from(text, folder, registry=registry()), registry())


def test_exchanges_are_a_factor_and_each_condition_is_a_round(tmp_path: Path) -> None:
    plan = planned(SCENARIO, tmp_path)
    assert [entry.id for entry in plan.rounds] == ["exchange=gemini", "exchange=trades"]
    assert plan.is_of_feeds
    feeds = {condition.id: condition.load.feed for condition in plan.conditions}
    trades = feeds["exchange=trades"]
    assert trades is not None
    assert (trades.personality, trades.rate_per_s, trades.subscribe) == ("binance", 3000, ("one", "two"))
    assert trades.design == "sliced"
    assert {process.id for process in plan.processes} == {
        "python-a",
        "go-b",
        "python-a~sentinel",
        "python-a~control",
    }


def test_a_plan_of_feeds_survives_json(tmp_path: Path) -> None:
    plan = planned(SCENARIO, tmp_path)
    assert Plan.from_json(plan.to_json()) == plan


def test_what_is_compared_lies_in_rounds_of_its_own(tmp_path: Path) -> None:
    text = (
        SCENARIO.replace("reference =", 'compare = "tls"\nreference =') + "[factors]\ntls = [false, true]\n"
    )
    plan = planned(text, tmp_path)
    assert len(plan.rounds) == 4
    assert {skipped.target for skipped in plan.skipped if "wss" in skipped.reason} == {"go/b"}
    (question, *_) = plan.questions
    assert len(question.cells) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("[feed]", "[load]\nconnections = 2\n[feed]"), "an exchange drives feed clients"),
        (('name = "trades"', 'name = "gemini"'), 'two exchanges are called "gemini"'),
        (('targets = ["*/*"]', 'targets = ["c/server"]'), "no feed client"),
        (("rate = 500", 'rate = "fast"'), "rate"),
        (("rate = 3000", "rate = 3000\n[factors]\nrate = [1, 2]"), "say it once"),
        (("rate = 3000", 'rate = 3000\n[knobs]\nsink = "none"'), "nothing is known"),
        (("rate = 3000", "rate = 3000\n[factors]\nconnections = [1, 2]"), 'unknown factor "connections"'),
    ],
)
def test_what_a_feed_scenario_cannot_mean_is_named(
    change: tuple[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(SCENARIO.replace(*change), tmp_path)
    assert told in str(error.value)


def test_an_exchange_is_told_of_its_market() -> None:
    exchange = {"personality": "kraken", "path": "/", "symbols": 3}
    settings = {
        "design": "parallel",
        "rate": 10,
        "arrivals": "hawkes",
        "branching_ratio": 0.5,
        "symbols": 3,
        "tls": False,
        "faults": ["gap:every=100"],
    }
    feed = Feed.from_settings(settings, exchange)
    assert " ".join(feed.arguments()) == (
        "--personality kraken --symbols 3 --rate 10 --arrivals hawkes --branching-ratio 0.5"
        " --fault gap:every=100"
    )
    assert Load.of_feed(feed).pacer == Market("hawkes", 10)


def test_a_proxy_has_no_connection_for_all_clients_and_the_plan_says_so(tmp_path: Path) -> None:
    def relay(name: str, *upstream: str) -> Target:
        target = make_target(name, models=("feed",), knobs={**DELAY, "upstream": upstream})
        return replace(target, roles=("relay",), server_command=None, relay_command=("relay",))

    known = make_registry(relay("go/shares", "shared", "each"), relay("proxy/passes", "each"))
    text = """\
schema = 1
name = "test"
title = "A test"
question = "Which is first?"
analysis = "None."
targets = ["*/*"]
reference = "go/shares"
[feed]
design = "in-turn"
[[feed.exchanges]]
personality = "binance"
path = "/ws/btcusdt@trade"
[relay]
[factors]
upstream = ["one", "per-client"]
"""
    plan = make_plan(scenario_from(text, tmp_path, registry=known), known)
    planned_cells = {(cell.target, cell.factors["upstream"]) for cell in plan.cells if cell.copy is None}
    assert planned_cells == {
        ("go/shares", "one"),
        ("go/shares", "per-client"),
        ("proxy/passes", "per-client"),
    }
    (skipped,) = plan.skipped
    assert skipped.target == "proxy/passes"
    assert skipped.reason == (
        'it connects to the exchange once for each client: it takes upstream = "per-client" alone'
    )
