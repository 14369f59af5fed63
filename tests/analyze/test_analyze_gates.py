"""The engine's lateness is held against the tails that it is to show, pacer by pacer."""

from __future__ import annotations

from typing import Any

import pytest

from feedbench.analyze.gates import GATES
from feedbench.load import LOAD_DEFAULTS, Load

CONSTANT = Load.from_settings({**LOAD_DEFAULTS, "pacer": "constant", "rate": 1000})
CLOSED = Load.from_settings(LOAD_DEFAULTS)
LATENESS = next(gate for gate in GATES if gate.name == "lateness_p999_share")


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
    assert LATENESS.measure({}, cells) == (None if share is None else pytest.approx(share))
