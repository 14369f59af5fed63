"""Statistics from counts are those of the values one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feedbench.papers.scores import FiveNumbers
from feedbench.pipeline.ages import ages_of, box, moments, quantiles

VALUES = st.lists(st.integers(-50, 500), min_size=1, max_size=200)


@given(VALUES, st.floats(0, 1))
def test_quantiles_are_numpys(values: list[int], share: float) -> None:
    assert ages_of(Counter(values)).quantile(share) == pytest.approx(np.quantile(values, share))


@given(VALUES)
def test_moments_are_scipys(values: list[int]) -> None:
    found = moments(ages_of(Counter(values)))
    assert found.mean_ms == pytest.approx(np.mean(values))
    assert found.deviation_ms == pytest.approx(np.std(values), abs=1e-9)
    if len(set(values)) == 1:
        assert found.skewness is None
        assert found.excess_kurtosis is None
    else:
        assert found.skewness == pytest.approx(stats.skew(values), abs=1e-6)
        assert found.excess_kurtosis == pytest.approx(stats.kurtosis(values), abs=1e-6)


@given(VALUES)
def test_whiskers_end_at_values_within_their_reach_and_all_else_is_counted(values: list[int]) -> None:
    found = box(ages_of(Counter(values)))
    q1, q3 = np.quantile(values, [0.25, 0.75])
    inside = [value for value in values if q1 - 1.5 * (q3 - q1) <= value <= q3 + 1.5 * (q3 - q1)]
    assert found.outliers == len(values) - len(inside)
    assert found.whiskers.minimum <= q1 <= q3 <= found.whiskers.maximum
    assert (found.extremes.minimum, found.extremes.maximum) == (min(values), max(values))


def test_both_readings_of_a_box_by_hand() -> None:
    # 1 … 9 and 30: Q1 3.25, median 5.5, Q3 7.75; the whiskers reach to −3.5 and 14.5, so that 30 is beyond.
    found = box(ages_of(Counter([*range(1, 10), 30])))
    assert found.whiskers == FiveNumbers(1, 3.25, 5.5, 7.75, 9)
    assert found.extremes == FiveNumbers(1, 3.25, 5.5, 7.75, 30)
    assert found.outliers == 1


def test_names_of_quantiles_are_percentiles() -> None:
    found = quantiles(ages_of(Counter(range(10001))), ["p50", "p99.9", "p99.99"])
    assert found == pytest.approx({"p50": 5000, "p99.9": 9990, "p99.99": 9999})


def test_nothing_has_no_summary() -> None:
    with pytest.raises(ValueError, match="no age"):
        box(ages_of({}))
