"""Breaking rates of feed clients: a planted one is found, and what real processes did is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedbench.capacity.feed_probe import FeedProbe, least_rate
from feedbench.capacity.feed_search import search_rate
from feedbench.capacity.market import MarketSearch, market, read_market
from feedbench.capacity.probe import Limit
from feedbench.cli import app
from feedbench.errors import FeedbenchError, ScenarioError
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.registry import discover
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
MARKET = PROJECT.scenarios / "feeds" / "breaking-rate.toml"
LIMIT = Limit("p99", 1_000_000)
FAULTY = PROJECT.root / "tests" / "verify" / "faulty_feed_client.py"


def search(limit: Limit = LIMIT, **changes: Any) -> MarketSearch:
    scenario = read_market(MARKET, PROJECT, discover(PROJECT, probe=lambda need: None))
    usual = MarketSearch(scenario, limit, 1_000_000_000, most=1_000_000, precision=0.05, repeats=3)
    return replace(usual, **changes)


def result(rate: int, *, age_ns: int, since_sent_ns: int | None = None, **more: Any) -> dict[str, Any]:
    """What a probe says of a second at this rate, in which two messages came of each event."""
    ages = {"count": 2 * rate, "p99": age_ns}
    since_sent = {"count": 2 * rate, "p99": age_ns if since_sent_ns is None else since_sent_ns}
    usual = {"verdict": "ok", "cause": None, "url": "x", "sent": 2 * rate}
    return {**usual, "latency_ns": ages, "latency_from_send_ns": since_sent, **more}


def queue(knee: int) -> Callable[[int], Mapping[str, Any]]:
    """A client with a queue: its p99 is 1/(1 − rate/saturation), and passes a millisecond at the knee."""
    saturation = knee * 1.25

    def measure(rate: int) -> Mapping[str, Any]:
        used = min(rate / saturation, 0.999_999)
        return result(rate, age_ns=int(200_000 / (1 - used)) - 1)

    return measure


@pytest.mark.parametrize("knee", [1_000, 33_333, 700_000])
def test_a_planted_knee_is_found(knee: int) -> None:
    told: list[str] = []
    answer = search_rate(search(), "c/planted", queue(knee), told=told.append)
    assert answer.found is not None
    assert knee / 1.05 - 1 <= answer.found.value <= knee
    assert answer.messages_per_s == pytest.approx(2 * answer.found.value)
    assert not answer.exchange_was_late
    assert answer.document()["value"] == answer.found.value
    assert all(line.startswith("c/planted, ") for line in told)


def test_an_exchange_that_was_late_makes_it_a_lower_bound() -> None:
    def measure(rate: int) -> Mapping[str, Any]:
        late = rate > 5_000
        return result(rate, age_ns=2_000_000 if late else 1_000, since_sent_ns=1_000)

    answer = search_rate(search(), "c/planted", measure, told=lambda _: None)
    assert answer.found is not None
    assert answer.exchange_was_late
    assert 5_000 / 1.05 - 1 <= answer.found.value <= 5_000


def test_a_client_that_loses_messages_has_not_kept_the_rate() -> None:
    def measure(rate: int) -> Mapping[str, Any]:
        lossy = (
            {"verdict": "failed", "cause": "of 9 sent, 1 messages lost (0 allowed)"} if rate > 5_000 else {}
        )
        return result(rate, age_ns=1_000, **lossy)

    told: list[str] = []
    answer = search_rate(search(), "c/planted", measure, told=told.append)
    assert answer.found is not None
    assert 5_000 / 1.05 - 1 <= answer.found.value <= 5_000
    assert not answer.exchange_was_late
    assert any("1 messages lost" in line for line in told)


def test_a_market_is_one_exchange_with_nothing_varied(tmp_path: Path) -> None:
    registry = discover(PROJECT, probe=lambda need: None)
    feed = market(search().scenario)
    assert (feed.design, feed.personality) == ("parallel", "gemini")
    with pytest.raises(ScenarioError, match="rate would be varied"):
        read_market(PROJECT.scenarios / "feeds" / "rates.toml", PROJECT, registry)
    with pytest.raises(ScenarioError, match="has no \\[feed\\]"):
        read_market(PROJECT.scenarios / "quick.toml", PROJECT, registry)
    with pytest.raises(FeedbenchError, match="p99 needs at least"):
        search_rate(search(most=100), "c/planted", queue(1_000), told=lambda _: None)


def test_the_command_refuses_who_is_no_feed_client() -> None:
    done = CliRunner().invoke(app, ["capacity", "c/floor", "--of", "feed-rate", "--below", "1ms"])
    assert isinstance(done.exception, FeedbenchError)
    assert "no feed client" in str(done.exception)
    done = CliRunner().invoke(app, ["capacity", "no/such", "--of", "feed-rate"])
    assert isinstance(done.exception, FeedbenchError)


def client(deviates: str = "") -> Target:
    """The fake as a feed client that needs no build; it breaks the rule that `deviates` names."""
    return replace(
        discover(PROJECT, probe=lambda need: None).get("_fake/echo"),
        server_command=None,
        feed_client_command=(
            *("env", f"FEEDBENCH_DEVIATES={deviates}", "{python}", str(FAULTY)),
            *(str(PROJECT.targets / "_fake" / "echo"), str(PROJECT.targets / "python" / "_support")),
        ),
        knobs={"sink": ("stamps", "sqlite")},
    )


def probe(target: Target) -> FeedProbe:
    return FeedProbe(
        project=PROJECT,
        target=target,
        feed=market(search().scenario),
        warmup_ns=100_000_000,
        measure_ns=1_000_000_000,
        knobs={},
        pinning=choose_pinning(wanted=False),
    )


@pytest.mark.end_to_end
@pytest.mark.skipif(not PROJECT.exchange.exists(), reason="the exchange is not built")
def test_real_processes_are_joined_with_the_ledger() -> None:
    """However slow the machine: all arrives, and who forgets what came beyond 500 messages is found out."""
    rate = 3 * least_rate(LIMIT, 1.0)
    honest = probe(client()).measure(rate)
    assert honest["verdict"] == "ok", honest
    assert honest["sent"] == honest["latency_ns"]["count"] > 500
    assert Limit("p99", 3_600_000_000_000).kept(honest)
    assert not Limit("p99", 1).kept(honest)
    forgetful = probe(client("burst-forgotten")).measure(rate)
    assert forgetful["verdict"] == "failed"
    assert "messages lost" in forgetful["cause"]
