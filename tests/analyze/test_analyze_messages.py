"""What is made of a cell's messages: slices, Cliff's delta, warm-up classes, what a block boils down to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.analyze.blocks import boil_down
from feedbench.analyze.effects import cliffs_delta, sample_messages
from feedbench.analyze.slices import in_time, medians, slices_of
from feedbench.analyze.warmup import (
    Course,
    WarmupClass,
    classify,
    classify_block,
    classify_cell,
    without_machine,
)
from feedbench.samples import RECORD, Ending, Samples

LATENCIES = st.lists(st.integers(0, 50), min_size=1, max_size=12)


def u64(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


def samples(latency_ns: list[int], slices: list[int], *, late_ns: int = 0) -> Samples:
    records = np.zeros(len(latency_ns), RECORD)
    records["intended_ns"] = np.arange(len(latency_ns)) * 1_000 + 10**12
    records["sent_ns"] = records["intended_ns"] + np.uint64(late_ns)
    records["received_ns"] = records["sent_ns"] + u64(latency_ns)
    records["slice"] = slices
    return Samples({}, records, Ending.COMPLETE)


def test_slices_and_their_medians() -> None:
    slices = slices_of(np.array([3, 3, 3, 7, 7], np.uint32))
    assert slices == [(0, 3), (3, 5)]
    assert medians(u64([5, 1, 9, 4, 2]), slices) == [5, 2]
    assert slices_of(np.array([], np.uint32)) == []


def test_an_unsliced_measurement_is_cut_into_parts_to_see_its_course() -> None:
    assert in_time([(0, 3), (3, 5)]) == [(0, 3), (3, 5)]
    assert in_time([]) == []
    parts = in_time([(0, 1_000)])
    assert len(parts) == 40
    assert parts[0] == (0, 25)
    assert parts[-1] == (975, 1_000)
    assert in_time([(0, 3)]) == [(0, 1), (1, 2), (2, 3)]
    slowing = [*wobbling(40_000, 600, 1), *wobbling(60_000, 1_000, 2)]
    values = boil_down(samples(slowing, [0] * 1_600), 0, ["p50"], warmup_ns=[], straddling=1)
    assert not values.course.interleaved
    assert classify_block(values.course) == "slowdown"


@given(LATENCIES, LATENCIES)
def test_cliffs_delta_counts_pairs(first: list[int], second: list[int]) -> None:
    expected = sum((a > b) - (a < b) for a in first for b in second) / (len(first) * len(second))
    found = cliffs_delta({0: u64(first).reshape(1, -1)}, {0: u64(second).reshape(1, -1)})
    assert found == pytest.approx(expected)


def test_cliffs_delta_compares_within_block_and_slice_only() -> None:
    """The second is slower within every slice, though the machine slowed down tenfold between them."""
    first = {0: u64([1, 2, 10, 20]).reshape(2, 2), 1: u64([1, 1]).reshape(1, 2)}
    second = {0: u64([3, 4, 30, 40]).reshape(2, 2), 2: u64([0, 0]).reshape(1, 2)}
    assert cliffs_delta(first, second) == -1
    assert cliffs_delta(first, {9: u64([1]).reshape(1, 1)}) is None


def test_sampled_messages_are_spread_over_their_slice() -> None:
    latency = u64([*range(160), 7])
    rows = sample_messages(latency, [(0, 160), (160, 161)])
    assert rows[0].tolist() == list(range(0, 160, 10))
    assert rows[1].tolist() == [7] * 16
    assert sample_messages(latency[:0], []).shape == (0, 256)


def wobbling(level: float, count: int, seed: int) -> list[int]:
    return (level * np.exp(np.random.default_rng(seed).normal(0, 0.004, count))).astype(int).tolist()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([(40_000, 40)], "flat"),
        ([(40_000, 20), (40_400, 20)], "flat"),  # one per cent has no consequence
        ([(80_000, 5), (40_000, 35)], "warmup"),
        ([(90_000, 5), (60_000, 10), (40_000, 25)], "warmup"),
        ([(40_000, 15), (48_000, 25)], "slowdown"),
        ([(40_000, 34), (60_000, 6)], "no_steady_state"),
        ([(40_000, 10), (60_000, 10), (40_000, 14), (60_000, 6)], "no_steady_state"),
    ],
)
def test_planted_changes_get_their_class(levels: list[tuple[int, int]], expected: str, seed: int) -> None:
    series = [
        value
        for place, (level, count) in enumerate(levels)
        for value in wobbling(level, count, seed * 9 + place)
    ]
    assert classify(series) == expected


def test_one_stall_is_no_change_of_level() -> None:
    series = wobbling(40_000, 40, 1)
    series[20] = 4_000_000
    assert classify(series) == "flat"


def test_a_series_without_noise_is_flat_and_a_short_one_unknown() -> None:
    assert classify([40_000] * 40) == "flat"
    assert classify([80_000, 40_000, 40_000]) == "flat"


@pytest.mark.parametrize(
    ("warmup", "measured", "expected"),
    [
        ([(80_000, 5), (40_000, 15)], [(40_000, 40)], "warmup"),
        ([(80_000, 18), (40_000, 2)], [(40_000, 40)], "warmup"),  # warm only when measuring began
        ([(40_000, 20)], [(40_000, 15), (60_000, 25)], "slowdown"),
        ([(40_000, 20)], [(50_000, 40)], "flat"),  # slices differ from warm-up bins by design
    ],
)
def test_measuring_decides_before_the_warm_up_does(
    warmup: list[tuple[int, int]], measured: list[tuple[int, int]], expected: str
) -> None:
    series = [
        [value for place, (level, count) in enumerate(levels) for value in wobbling(level, count, place)]
        for levels in (warmup, measured)
    ]
    course = Course(tuple(series[0]), tuple(series[1]), interleaved=True)
    assert classify_block(course) == expected


def test_what_all_targets_do_at_once_is_the_machines() -> None:
    """The machine slows down by a third at the end of a block; one target slows down by itself half-way."""
    machine = np.array([1.0] * 30 + [1.33] * 10)
    own = [np.ones(40), np.ones(40), np.ones(40), np.array([1.0] * 15 + [1.2] * 25)]
    courses = [
        Course(
            (),
            tuple(int(value) for value in np.array(wobbling(30_000 * k, 40, k)) * machine * change),
            interleaved=True,
        )
        for k, change in enumerate(own, start=1)
    ]
    assert classify_block(courses[0]) == "no_steady_state"
    found = [classify_block(course) for course in without_machine(courses)]
    assert found == ["flat", "flat", "flat", "slowdown"]
    assert without_machine(courses[:2]) == courses[:2]  # two can't outvote each other
    alone = [Course((), course.measured_ns, interleaved=False) for course in courses]
    assert without_machine(alone) == alone  # not measured at the same time


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([], "flat"),
        (["flat"] * 9 + ["no_steady_state"], "flat"),
        (["flat"] * 7 + ["slowdown"] * 3, "slowdown"),
        (["warmup"] * 5 + ["flat"] * 5, "warmup"),
    ],
)
def test_one_odd_block_convicts_nobody(blocks: list[WarmupClass], expected: str) -> None:
    assert classify_cell(blocks) == expected


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=500))
def test_a_block_boils_down_to_its_own_messages(latency_ns: list[int]) -> None:
    values = boil_down(samples(latency_ns, [0] * len(latency_ns)), 3, ["p50"], warmup_ns=[], straddling=1)
    assert values.block == 3
    assert values.latency_ns.tolist() == sorted(latency_ns)
    assert values.latency_from_send_ns is values.latency_ns  # sent as intended: one array serves both
    assert values.witness.count == len(latency_ns)
    assert values.witness.waits_ns == sum(latency_ns)
    half = sorted(latency_ns)[(len(latency_ns) - 1) // 2]
    assert values.quantiles["p50"] == (half if len(latency_ns) >= 6 else None)


def test_lateness_is_part_of_the_latency_and_not_of_the_other_one() -> None:
    values = boil_down(samples([10] * 8, [0] * 8, late_ns=5), 0, ["p50"], warmup_ns=[], straddling=1)
    assert values.latency_ns.tolist() == [15] * 8
    assert values.latency_from_send_ns.tolist() == [10] * 8


def test_messages_from_the_future_are_witnessed() -> None:
    backwards = samples([10] * 8, [0] * 8)
    backwards.records["received_ns"][2] = backwards.records["sent_ns"][2] - np.uint64(1)
    assert boil_down(backwards, 0, ["p50"], warmup_ns=[], straddling=1).witness.backwards == 1
