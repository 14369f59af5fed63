"""The engine's lateness is held against the tails that it is to show, pacer by pacer; the exchange's against
the ages that are to be decided.
"""

from __future__ import annotations

from typing import Any

import pytest

from feedbench.analyze.gates import GATES
from feedbench.feed.settings import FEED_DEFAULTS, Feed
from feedbench.load import LOAD_DEFAULTS, Load

CONSTANT = Load.from_settings({**LOAD_DEFAULTS, "pacer": "constant", "rate": 1000})
CLOSED = Load.from_settings(LOAD_DEFAULTS)
FOLLOWING = Load.of_feed(
    Feed.from_settings({**FEED_DEFAULTS, "faults": []}, {"personality": "binance", "path": "/ws"})
)
LATENESS = next(gate for gate in GATES if gate.name == "lateness_p999_share")
EXCHANGE = next(gate for gate in GATES if gate.name == "exchange_share")


def result(*, lateness_ns: int, p99_ns: int) -> dict[str, Any]:
    return {"lateness_ns": {"p99.9": lateness_ns}, "latency_ns": {"p99": p99_ns}}


@pytest.mark.parametrize(
    ("cells", "share"),
    [
        pytest.param(
            [
                (CONSTANT, result(lateness_ns=3_000, p99_ns=90_000)),
                (CLOSED, result(lateness_ns=0, p99_ns=50)),
            ],
            3_000 / 90_000,
            id="the closed loop's short tail is not what an open loop's lateness would spoil",
        ),
        pytest.param(
            [
                (CONSTANT, result(lateness_ns=3_000, p99_ns=90_000)),
                (CONSTANT, result(lateness_ns=10, p99_ns=4_000)),
            ],
            3_000 / 4_000,
            id="the engine was late for one target, and would have spoiled another of the same load",
        ),
        pytest.param([(CLOSED, {"latency_ns": {"p99": None}})], None, id="nothing was measured"),
    ],
)
def test_lateness_is_held_against_the_smallest_tail_of_the_same_pacer(
    cells: list[tuple[Load, dict[str, Any]]], share: float | None
) -> None:
    assert LATENESS.measure({}, cells, ("p50", "p99")) == (None if share is None else pytest.approx(share))


def age(age_ns: int, *, lateness_ns: int, p99_lateness_ns: int | None = None) -> dict[str, Any]:
    """What came of a feed client: its ages' median and p99, and what the exchange had of both."""
    late = {"p50": lateness_ns, "p99": lateness_ns if p99_lateness_ns is None else p99_lateness_ns}
    return {
        "lateness_ns": late,
        "latency_ns": {name: age_ns + late[name] for name in late},
        "latency_from_send_ns": dict.fromkeys(late, age_ns),
    }


@pytest.mark.parametrize(
    ("results", "quantiles", "share"),
    [
        pytest.param(
            [
                age(24_000, lateness_ns=1_000),
                age(90_000, lateness_ns=1_000),
                age(9_000_000, lateness_ns=1_000),
            ],
            ("p50",),
            1_000 / 25_000,
            id="its part is held against the smallest age",
        ),
        pytest.param(
            [
                age(20_000, lateness_ns=20_000),
                age(90_000, lateness_ns=20_000),
                age(80_000, lateness_ns=20_000),
            ],
            ("p50",),
            20_000 / 40_000,
            id="it was late for all",
        ),
        pytest.param(
            [age(24_000, lateness_ns=1_000), age(90_000, lateness_ns=1_000), age(5_000, lateness_ns=900_000)],
            ("p50",),
            1_000 / 25_000,
            id="one client that reads slowly holds up its own messages, and spoils nobody's block",
        ),
        pytest.param(
            [age(20_000, lateness_ns=0, p99_lateness_ns=5_000)] * 3,
            ("p50",),
            0.0,
            id="a tail that nobody decides about",
        ),
        pytest.param(
            [age(20_000, lateness_ns=0, p99_lateness_ns=5_000)] * 3,
            ("p50", "p98"),
            5_000 / 25_000,
            id="a tail that is decided about, by the next that was summarised",
        ),
        pytest.param([{"lateness_ns": {"p50": None}}, {}], ("p50",), None, id="nobody was told anything"),
    ],
)
def test_an_exchange_is_held_against_the_smallest_age_that_is_to_be_decided(
    results: list[dict[str, Any]], quantiles: tuple[str, ...], share: float | None
) -> None:
    cells = [(FOLLOWING, result) for result in results]
    assert EXCHANGE.measure({}, cells, quantiles) == (None if share is None else pytest.approx(share))
    assert LATENESS.measure({}, cells, quantiles) is None, "an exchange is no engine"
