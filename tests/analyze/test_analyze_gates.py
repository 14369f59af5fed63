"""The engine's lateness is held against the tails that it is to show, pacer by pacer; what an
exchange waited for a CPU against the tail that is to be decided.
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
EXCHANGE = next(gate for gate in GATES if gate.name == "exchange_run_delay_share")


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


@pytest.mark.parametrize(
    ("waited_ns", "quantiles", "share"),
    [
        pytest.param(20_000_000, ("p50",), 0.004, id="2 ms in a second, beside half of all messages"),
        pytest.param(20_000_000, ("p50", "p99"), 0.2, id="the same, beside the last hundredth of them"),
        pytest.param(0, ("p99.9",), 0.0, id="it never waited"),
        pytest.param(None, ("p50",), None, id="an older run that did not look"),
    ],
)
def test_an_exchange_is_held_against_the_tail_that_is_to_be_decided(
    waited_ns: int | None, quantiles: tuple[str, ...], share: float | None
) -> None:
    environment = {"engine_run_delay_ns": waited_ns, "wall_ns": 10_000_000_000}
    cells = [(FOLLOWING, result(lateness_ns=5_000_000, p99_ns=60_000))]
    assert EXCHANGE.measure(environment, cells, quantiles) == (
        None if share is None else pytest.approx(share)
    )
    assert EXCHANGE.measure(environment, [(CONSTANT, {})], quantiles) is None, "an engine is no exchange"
    assert LATENESS.measure(environment, cells, quantiles) is None, "an exchange is no engine"
