"""Decisions: the rule row by row, and how often it is wrong over many simulated campaigns."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulate import Noise, campaign, decide

from feedbench.analyze.decide import (
    Comparison,
    Margin,
    Outcome,
    compare_paired,
    correct,
    log_ratios,
    margin_of,
    outcome,
)

ONE_PER_CENT = Margin(0.01, "margin_ratio")
SOUND = Comparison(
    blocks=11, ratio=1.0, interval=(0.995, 1.005), p=0.5, p_holm=0.5, margin=ONE_PER_CENT, outcome="undecided"
)


@pytest.mark.parametrize(
    ("change", "expected", "why"),
    [
        ({}, "equivalent", "interval inside the margin"),
        ({"interval": (0.985, 1.005)}, "undecided", "interval leaves the margin below"),
        ({"interval": (0.995, 1.02)}, "undecided", "interval leaves the margin above"),
        (
            {"ratio": 1.02, "interval": (1.015, 1.03), "p_holm": 0.05},
            "different",
            "significant at exactly 5 %",
        ),
        ({"ratio": 0.98, "interval": (0.975, 0.985), "p_holm": 0.01}, "different", "significant, and faster"),
        (
            {"ratio": 1.02, "interval": (1.015, 1.03), "p_holm": 0.051},
            "undecided",
            "beyond the margin, by chance?",
        ),
        ({"ratio": 1.005, "interval": (1.003, 1.007), "p_holm": 0.001}, "equivalent", "significant but tiny"),
        (
            {"ratio": 1.009, "interval": (1.003, 1.015), "p_holm": 0.001},
            "undecided",
            "significant, tiny, imprecise",
        ),
        ({"blocks": 5}, "undecided", "five blocks that agree prove nothing"),
        ({"ratio": None, "interval": None}, "undecided", "nothing was measured"),
    ],
)
def test_the_rule(change: dict[str, object], expected: Outcome, why: str) -> None:
    assert outcome(replace(SOUND, **change), confidence=0.95) == expected, why  # type: ignore[arg-type]


@given(st.dictionaries(st.integers(0, 12), st.integers(1, 2**40), max_size=12), st.data())
def test_the_order_of_a_pair_changes_nothing_but_the_sign(first: dict[int, int], data: st.DataObject) -> None:
    second = {block: data.draw(st.integers(1, 2**40)) for block in first}
    there, back = (
        compare_paired(log_ratios(*pair), ONE_PER_CENT, confidence=0.95, seed=1)
        for pair in ((first, second), (second, first))
    )
    assert there.outcome == back.outcome
    assert there.p == back.p
    if there.ratio is not None and back.ratio is not None:
        assert there.ratio == pytest.approx(1 / back.ratio)


def test_blocks_without_a_counterpart_are_left_out() -> None:
    assert log_ratios({0: 10, 1: 20, 2: 30}, {1: 10, 2: 30, 3: 5}) == {1: math.log(2), 2: 0.0}


def test_correction_looks_at_the_whole_family() -> None:
    clear = compare_paired(dict.fromkeys(range(7), 0.1), ONE_PER_CENT, confidence=0.95, seed=1)
    assert clear.outcome == "different"
    family = correct([clear] * 5, confidence=0.95)  # 7 blocks: p = 1/64, times 5 above 5 %
    assert [comparison.outcome for comparison in family] == ["undecided"] * 5


@pytest.mark.parametrize(
    ("fastest_ns", "sentinel", "source"),
    [
        (100_000, [0.0] * 11, "margin_ratio"),
        (20_000, [0.0] * 11, "margin_ns"),  # 250 ns are 1.25 % of 20 µs
        (100_000, [0.08, -0.06, 0.05, -0.07, 0.04, 0.06, -0.09, 0.07, -0.05, 0.06, -0.08], "sentinel"),
    ],
)
def test_the_margin_is_the_largest_of_three(fastest_ns: int, sentinel: list[float], source: str) -> None:
    margin = margin_of(
        [{0: fastest_ns}, {0: fastest_ns * 2}],
        margin_ratio=0.01,
        margin_ns=250,
        sentinel=sentinel,
        confidence=0.95,
        seed=1,
    )
    assert margin.source == source
    assert 0.01 <= margin.ratio < 0.06


# Bimodal weather that a block's targets share; then modes of each process, the worst case for pairing.
NOISES = {
    "modes of the machine": Noise(),
    "modes of each process": Noise(process_mode=1.28),
    "noisy": Noise(process_sd=0.03),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
def test_two_copies_come_out_different_in_at_most_5_of_100_campaigns(noise: Noise) -> None:
    false_alarms = 0
    for seed in range(100):
        decisions = decide(*campaign(seed, noise=noise))
        false_alarms += any(comparison.outcome == "different" for comparison in decisions.values())
    assert false_alarms <= 5


def test_quiet_processes_come_out_equivalent_at_the_median() -> None:
    """Not by being always undecided does it avoid false alarms."""
    outcomes = Counter(decide(*campaign(seed, noise=Noise()))["p50"].outcome for seed in range(50))
    assert outcomes["equivalent"] >= 45


def test_5_us_on_40_are_found_with_sign_and_size() -> None:
    found = 0
    for seed in range(100):
        first, second = campaign(seed, noise=Noise(), delay_ns=5_000)
        sentinel = campaign(1_000 + seed, noise=Noise())
        comparison = decide(second, first, sentinel=sentinel)["p50"]
        assert comparison.ratio is not None
        assert comparison.interval is not None
        # 5 µs on 40 µs in the fast mode, on 51 µs in the slow one: a ratio of 1.098 to 1.125.
        sized = comparison.interval[0] <= 1.13 and comparison.interval[1] >= 1.09
        found += comparison.outcome == "different" and comparison.ratio > 1 and sized
    assert found >= 98


def test_the_ratio_of_a_planted_delay_is_covered_as_often_as_its_interval_says() -> None:
    noise = Noise(weather_mode=1.0, weather_sd=0.0, process_sd=0.02)
    covered = 0
    for seed in range(200):
        first, second = campaign(seed, noise=noise, delay_ns=4_000, messages=400)
        interval = decide(second, first)["p50"].interval
        assert interval is not None
        covered += interval[0] <= 1.1 <= interval[1]
    assert 0.90 <= covered / 200 <= 0.99
