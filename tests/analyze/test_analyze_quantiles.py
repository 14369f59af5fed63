"""Quantiles: exact by definition, gated by count, never through a float."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.analyze.quantiles import (
    at,
    gated,
    minimum_count,
    parse_quantile,
    percentile_curve,
    rank,
    summarize,
    total,
)

U64 = st.integers(0, 2**64 - 1)
NAMES = st.sampled_from(["p1", "p25", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999"])


def ascending(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.sort(np.array(values, np.uint64))


@given(st.lists(U64, min_size=1, max_size=300), NAMES)
def test_a_quantile_is_the_smallest_value_with_enough_below_it(values: list[int], name: str) -> None:
    share = parse_quantile(name)
    found = at(ascending(values), share)
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < share * len(values)
    assert found in values


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("p50", 1, 1),  # one value is every quantile
        ("p50", 2, 1),  # ⌈0.5·2⌉ = 1: the lower of two
        ("p50", 3, 2),
        ("p99", 100, 99),  # exactly 99: not 100, as interpolating definitions have it
        ("p99", 101, 100),
        ("p99.9", 1000, 999),  # 0.999 × 1000 is 999.0000000000001 in some floating-point orders
        ("p99.9", 1_000_000_000_000, 999_000_000_000),
        ("p99.99", 10_001, 10_000),
    ],
)
def test_ranks(name: str, count: int, expected: int) -> None:
    assert rank(parse_quantile(name), count) == expected


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("p50", 6),
        ("p90", 36),
        ("p95", 72),
        ("p99", 368),
        ("p99.9", 3_688),
        ("p99.99", 36_887),
        ("p99.999", 368_887),
    ],
)
def test_the_counts_from_which_a_quantile_has_an_upper_bound(name: str, count: int) -> None:
    share = parse_quantile(name)
    assert minimum_count(share) == count
    # The definition itself, in exact arithmetic where that is affordable.
    if count < 5_000:
        assert share**count <= Fraction(25, 1000) < share ** (count - 1)
    values = np.arange(count, dtype=np.uint64)
    assert gated(values, share) == rank(share, count) - 1
    assert gated(values[:-1], share) is None


def test_low_quantiles_need_a_lower_bound_alike() -> None:
    assert minimum_count(parse_quantile("p1")) == 368


@pytest.mark.parametrize("name", ["p0", "p100", "p101", "50", "p", "p5x", "p99.", "p-1", "p1e1"])
def test_what_is_no_quantile(name: str) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        parse_quantile(name)


def test_a_summary_of_values_beyond_53_bits_is_exact() -> None:
    base = 2**60
    summary = summarize(ascending([base + k for k in range(1, 8)]))
    assert summary["count"] == 7
    assert (summary["min"], summary["p50"], summary["max"]) == (base + 1, base + 4, base + 7)
    assert summary["p99"] is None
    assert summary["mean"] == float(base + 4)


@given(st.lists(U64, max_size=50))
def test_sums_do_not_overflow(values: list[int]) -> None:
    assert total(ascending(values)) == sum(values)


def test_the_summary_of_nothing_is_nothing() -> None:
    summary = summarize(ascending([]))
    assert summary.pop("count") == 0
    assert set(summary.values()) == {None}


def test_the_curve_rises_from_the_minimum_to_the_last_printable_share() -> None:
    values = np.arange(1, 4_001, dtype=np.uint64)
    curve = percentile_curve(values)
    assert curve[0] == (0.0, 1)
    shares, latencies = zip(*curve, strict=True)
    assert list(shares) == sorted(set(shares))
    assert list(latencies) == sorted(latencies)
    assert 0.999 <= shares[-1] < 0.9999  # 4,000 values bound p99.9 and not p99.99
    assert 50 <= len(percentile_curve(np.arange(500_000, dtype=np.uint64))) <= 75
    assert percentile_curve(values[:0]) == []
