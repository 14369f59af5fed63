"""Who meets a need: only measurements at least as heavy show it, only those at most as heavy disprove it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from choices import NEED, Truth, observation
from hypothesis import given
from hypothesis import strategies as st

from feedbench.advise.evidence import Choice, Observation
from feedbench.advise.judge import Verdict, judge
from feedbench.advise.need import Need

FINE = Truth(p99=300, cpu=10, memory=20)
SLOW = Truth(p99=3_000, cpu=10, memory=20)


def judged(*observations: Observation, need: Need = NEED) -> Verdict:
    return judge(Choice("go/fast", "ws"), observations, need)


@pytest.mark.parametrize(
    ("truth", "connections", "rate", "state"),
    [
        (FINE, 200, 5_000, "meets"),
        (FINE, 400, 50_000, "meets"),
        (FINE, 100, 50_000, "unknown"),
        (FINE, 400, 1_000, "unknown"),
        (SLOW, 200, 5_000, "fails"),
        (SLOW, 32, 100, "fails"),
        (SLOW, 400, 5_000, "unknown"),
        (SLOW, 100, 50_000, "unknown"),
    ],
)
def test_what_a_measurement_says_of_another_load(
    truth: Truth, connections: int, rate: float, state: str
) -> None:
    found = judged(observation("go/fast", truth, connections=connections, rate_per_s=rate))
    assert found.state == state, found.reasons


@given(
    measured=st.tuples(st.integers(1, 400), st.integers(1, 20_000), st.integers(100, 2_000)),
    asked=st.tuples(st.integers(1, 400), st.integers(1, 20_000)),
)
def test_nothing_is_extrapolated(measured: tuple[int, int, int], asked: tuple[int, int]) -> None:
    connections, rate, p99 = measured
    need = replace(NEED, streams=asked[0], rate_per_s=asked[1])
    one = observation("go/fast", Truth(p99, 10, 20), connections=connections, rate_per_s=rate)
    state = judged(one, need=need).state
    if state == "meets":
        assert connections >= need.streams
        assert rate >= need.rate_per_s
        assert p99 * 1_020 <= need.p99_ns
    if state == "fails":
        assert connections <= need.streams
        assert rate <= need.rate_per_s
        assert p99 * 980 > need.p99_ns


def test_heavier_evidence_is_called_so() -> None:
    found = judged(observation("go/fast", FINE, connections=400))
    assert found.reasons == ("measured with 400 connections at 5,000/s, heavier than asked",)
    exact = judged(observation("go/fast", FINE))
    assert exact.reasons == ("measured with 200 connections at 5,000/s",)


def test_an_interval_across_the_limit_decides_nothing() -> None:
    near = observation("go/fast", FINE, p99_ns=990_000.0, p99_interval_ns=(950_000, 1_050_000))
    assert judged(near).state == "unknown"
    assert judged(near).reasons == (
        "with 200 connections at 5,000/s, no less than asked: its p99 may be 1.05 ms",
    )


def test_a_closed_loop_counts_only_when_asked_for_and_is_named() -> None:
    closed = observation("go/fast", FINE, closed_loop=True)
    assert judged(closed).state == "unknown"
    assert "closed loop" in judged(closed).reasons[0]
    accepted = judged(closed, need=replace(NEED, closed_loops=True))
    assert accepted.state == "meets"
    assert "can't see what a stall does" in accepted.reasons[-1]


@pytest.mark.parametrize(
    ("changes", "need", "word"),
    [
        ({}, replace(NEED, cores=0.04), "needs 0.05 cores"),
        ({}, replace(NEED, memory_bytes=10_000_000), "it took 20 MB"),
        ({"loss_share": 0.01}, NEED, "it lost 1.000%"),
        ({"p99_interval_ns": None}, NEED, "no interval"),
        ({"cpu_ns": None}, replace(NEED, cores=1), "its CPU time is not known"),
        ({"memory_bytes": None}, replace(NEED, memory_bytes=1), "its memory is not known"),
        ({"failed": "it failed in 2 blocks: it crashed"}, NEED, "it crashed"),
    ],
)
def test_each_reason_against_a_choice_is_told(changes: dict[str, object], need: Need, word: str) -> None:
    found = judged(observation("go/fast", FINE, **changes), need=need)
    assert found.state != "meets"
    assert any(word in reason for reason in found.reasons), found.reasons


def test_runs_that_disagree_leave_it_open() -> None:
    fine = observation("go/fast", FINE, connections=400)
    slow = observation("go/fast", SLOW, source="runs/other")
    found = judged(fine, slow)
    assert found.state == "unknown"
    assert found.reasons[0] == "runs disagree: it meets the need in runs/one"


@pytest.mark.parametrize(
    ("holds", "limit_ns", "connections", "state"),
    [
        ((6_000.0, 7_000.0), 1_000_000, 200, "meets"),
        ((6_000.0, 7_000.0), 500_000, 400, "meets"),
        ((6_000.0, 7_000.0), 2_000_000, 200, "unknown"),
        ((3_000.0, 4_000.0), 1_000_000, 200, "fails"),
        ((3_000.0, 4_000.0), 2_000_000, 100, "fails"),
        ((3_000.0, 4_000.0), 500_000, 200, "unknown"),
        ((3_000.0, 4_000.0), 1_000_000, 400, "unknown"),
        ((4_900.0, 5_100.0), 1_000_000, 200, "unknown"),
    ],
)
def test_what_a_capacity_search_says(
    holds: tuple[float, float], limit_ns: int, connections: int, state: str
) -> None:
    search = Observation(
        choice=Choice("go/fast", "ws"),
        deflate=False,
        source="capacity.json",
        cell="capacity",
        payload="binary:108",
        connections=connections,
        rate_per_s=holds[0],
        holds_rate_per_s=holds,
        limit_ns=limit_ns,
    )
    assert judged(search).state == state, judged(search).reasons
