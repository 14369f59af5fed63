"""How many subscribers a relay feeds: a planted knee is found, and what real processes did is judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedbench.capacity.market import MarketSearch, market, read_market
from feedbench.capacity.probe import Limit
from feedbench.capacity.relay_probe import RelayProbe
from feedbench.capacity.relay_search import search_subscribers
from feedbench.cli import app
from feedbench.errors import FeedbenchError
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.registry import discover
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
MARKET = PROJECT.scenarios / "feeds" / "capacity.toml"
LIMIT = Limit("p99", 1_000_000)
FAULTY = PROJECT.root / "tests" / "feed" / "faulty_relay.py"


def search(**changes: Any) -> MarketSearch:
    scenario = read_market(MARKET, PROJECT, discover(PROJECT, probe=lambda need: None))
    usual = MarketSearch(scenario, LIMIT, 1_000_000_000, most=10_000, precision=0.05, repeats=3)
    return replace(usual, **changes)


def result(clients: int, *, age_ns: int, since_sent_ns: int | None = None, **more: Any) -> dict[str, Any]:
    count = 2_000 * clients
    since_sent = {"count": count, "p99": age_ns if since_sent_ns is None else since_sent_ns}
    usual = {"verdict": "ok", "cause": None, "url": "x", "sent": count}
    return {
        **usual,
        "latency_ns": {"count": count, "p99": age_ns},
        "latency_from_send_ns": since_sent,
        **more,
    }


@pytest.mark.parametrize("knee", [3, 250, 7_777])
def test_a_planted_knee_is_found(knee: int) -> None:
    """A relay writes to one client after the other: the last waits for all, a millisecond at the knee."""
    told: list[str] = []
    answer = search_subscribers(
        search(),
        "c/planted",
        lambda clients: result(clients, age_ns=1_000_000 * clients // (knee + 1)),
        told=told.append,
    )
    assert answer.found is not None
    assert knee / 1.05 - 1 <= answer.found.value <= knee
    low, high = answer.found.interval
    assert low <= answer.found.value <= high
    assert any("subscribers: in time" in line for line in told)
    assert any("subscribers: late" in line for line in told)


def test_a_relay_that_loses_messages_has_not_kept_the_number() -> None:
    def measure(clients: int) -> Mapping[str, Any]:
        lossy = {"verdict": "failed", "cause": "1 messages lost (0 allowed)"} if clients > 40 else {}
        return result(clients, age_ns=1_000, **lossy)

    told: list[str] = []
    answer = search_subscribers(search(), "c/planted", measure, told=told.append)
    assert answer.found is not None
    assert 40 / 1.05 - 1 <= answer.found.value <= 40
    assert any("1 messages lost" in line for line in told)


def test_an_exchange_that_is_late_makes_the_answer_a_lower_bound() -> None:
    def measure(clients: int) -> Mapping[str, Any]:
        return result(clients, age_ns=10_000_000 if clients > 100 else 1_000, since_sent_ns=1_000)

    assert search_subscribers(search(), "c/planted", measure, told=lambda _: None).exchange_was_late


def test_who_holds_all_that_is_allowed_holds_at_least_that() -> None:
    answer = search_subscribers(
        search(most=64), "c/planted", lambda clients: result(clients, age_ns=1), told=lambda _: None
    )
    assert answer.found is not None
    assert (answer.found.value, answer.found.at_least) == (64, True)


def test_too_few_messages_for_the_quantile_are_told() -> None:
    with pytest.raises(FeedbenchError, match=r"p99 needs the messages of \d+ subscribers"):
        search_subscribers(
            search(measure_ns=1_000_000, most=10), "c/planted", lambda _: {}, told=lambda _: None
        )


def test_the_command_refuses_who_is_no_relay() -> None:
    done = CliRunner().invoke(app, ["capacity", "c/floor", "--of", "subscribers", "--below", "1ms"])
    assert isinstance(done.exception, FeedbenchError)
    assert "no relay" in str(done.exception)
    market_without = str(PROJECT.scenarios / "feeds" / "breaking-rate.toml")
    done = CliRunner().invoke(app, ["capacity", market_without, "--of", "subscribers"])
    assert isinstance(done.exception, FeedbenchError)
    assert "no [relay]" in str(done.exception)


def probe(deviates: str = "") -> RelayProbe:
    """Of a relay in this interpreter that needs no build; it breaks the rule that `deviates` names."""
    fake = discover(PROJECT, probe=lambda need: None).get("_fake/echo")
    relay: Target = replace(
        fake,
        server_command=None,
        relay_command=("env", f"FEEDBENCH_DEVIATES={deviates}", sys.executable, str(FAULTY)),
        knobs={"upstream": ("shared", "each")},
    )
    return RelayProbe(
        project=PROJECT,
        target=relay,
        feed=replace(market(search().scenario), rate_per_s=100),
        upstream="one",
        warmup_ns=100_000_000,
        measure_ns=2_000_000_000,
        knobs={},
        pinning=choose_pinning(wanted=False),
    )


@pytest.mark.end_to_end
@pytest.mark.skipif(
    not (PROJECT.exchange.exists() and PROJECT.engine.exists()), reason="engine and exchange are not built"
)
def test_real_processes_are_joined_with_the_ledger() -> None:
    """However slow the machine: all arrives at all clients, and who forgets is found out."""
    honest = probe().measure(5)
    assert honest["verdict"] == "ok", honest
    assert honest["sent"] == honest["latency_ns"]["count"] > 0
    assert honest["sent"] % 5 == 0
    assert not Limit("p99", 1).kept(honest)
    forgetful = probe("forgets").measure(2)
    assert forgetful["verdict"] == "failed"
    assert "messages lost" in forgetful["cause"]
