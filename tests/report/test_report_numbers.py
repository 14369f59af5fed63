"""Numbers in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.report import numbers


@pytest.mark.parametrize(
    ("value_ns", "words", "why"),
    [
        (None, "–", "nothing was measured"),
        (0, "0 ns", "zero has no unit of its own"),
        (812, "812 ns", "below a microsecond"),
        (31_500, "31.5 µs", "three significant digits"),
        (999_600, "1.00 ms", "rounding up reaches the next unit, so the unit is chosen after rounding"),
        (100_000, "100 µs", "no decimals where three digits stand before the point"),
        (54_321_000_000, "54.3 s", "seconds are the largest unit"),
        (-5_100, "-5.10 µs", "a control may be found on the wrong side"),
    ],
)
def test_duration(value_ns: float | None, words: str, why: str) -> None:
    assert numbers.duration(value_ns) == words, why


@pytest.mark.parametrize(
    ("value", "interval", "words", "why"),
    [
        (30_100, (29_000, 31_200), "30.1 [29.0, 31.2] µs", "the unit stands once"),
        (990_000, (980_000, 1_010_000), "990 [980, 1,010] µs", "the interval keeps the value's unit"),
        (30_100, None, "30.1 µs", "too few blocks for an interval"),
        (None, None, "–", "nothing was measured"),
    ],
)
def test_estimate_words(
    value: float | None, interval: tuple[float, float] | None, words: str, why: str
) -> None:
    assert numbers.estimate_words(value, interval) == words, why


@pytest.mark.parametrize(
    ("value", "words"), [(None, "–"), (0, "0 B"), (999, "999 B"), (12_300, "12.3 kB"), (1.5e9, "1.50 GB")]
)
def test_size(value: float | None, words: str) -> None:
    assert numbers.size(value) == words


@given(st.floats(min_value=1e-6, max_value=1e15))
def test_significant_is_within_half_a_unit_of_the_third_digit(value: float) -> None:
    assert float(numbers.significant(value).replace(",", "")) == pytest.approx(value, rel=5.1e-3)


@given(st.lists(st.floats(min_value=1, max_value=1e12), min_size=1))
def test_time_unit_leaves_the_middle_value_readable(values_ns: list[float]) -> None:
    unit = numbers.time_unit(values_ns)
    middle = sorted(values_ns)[len(values_ns) // 2]
    assert middle / unit.nanoseconds >= 1
    assert unit.symbol == "s" or middle / unit.nanoseconds < 1000
