"""Durations: read as written, written as said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from feedbench.units import UNITS_NS, format_duration, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [("0ns", 0), ("5us", 5_000), ("0.1s", 100_000_000), ("1.5h", 5_400_000_000_000), ("25ms", 25_000_000)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, duration_ns: int) -> None:
    assert parse_duration(text) == duration_ns


@pytest.mark.parametrize("text", ["", "5", "ms", "5 ms", "-5ms", "5min", ".5s", "1e3s", "0.5ns", "5ms "])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|finer than a nanosecond"):
        parse_duration(text)


@given(some.integers(0, 10**12), some.sampled_from(sorted(UNITS_NS)))
def test_whole_numbers_of_any_unit_lose_nothing(number: int, unit: str) -> None:
    assert parse_duration(f"{number}{unit}") == number * UNITS_NS[unit]


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (250, "250 ns"),
        (5_000, "5 µs"),
        (25_000_000, "25 ms"),
        (1_500_000_000, "1.5 s"),
        (60_000_000_000, "1 min"),
        (280_000_000_000, "4 min 40 s"),
        (5_400_000_000_000, "1 h 30 min"),
        (7_200_000_000_000, "2 h"),
    ],
)
def test_durations_are_said_as_people_say_them(duration_ns: int, text: str) -> None:
    assert format_duration(duration_ns) == text


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("2GB", 2 * 10**9), ("1.5 GB", 1_500_000_000), ("512MiB", 2**29), ("7B", 7)]
)
def test_sizes_are_whole_bytes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "2", "2 gigabytes", "-1GB", "1.5B", "2iB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size|finer than a byte"):
        parse_size(text)
