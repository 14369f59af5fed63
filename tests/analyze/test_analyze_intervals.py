"""Intervals: against scipy, against published tables, and covering what they say they cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feedbench.analyze.holm import holm
from feedbench.analyze.intervals import lower_median, median_interval, t_interval, welch_interval
from feedbench.analyze.permutation import permutation_p


@pytest.mark.parametrize("seed", range(3))
def test_the_t_interval_is_scipys(seed: int) -> None:
    values = np.random.default_rng(seed).normal(1, 2, 11)
    reference = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert t_interval(values.tolist(), 0.95) == pytest.approx((reference.low, reference.high))


@pytest.mark.parametrize("seed", range(3))
def test_the_welch_interval_is_scipys(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = random.normal(1, 2, 11), random.normal(0, 0.5, 7)
    reference = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = welch_interval(first.tolist(), second.tolist(), 0.95)
    assert found == pytest.approx((reference.low, reference.high))


def test_too_few_values_have_no_interval() -> None:
    assert t_interval([1.0], 0.95) is None
    assert welch_interval([1.0], [1.0, 2.0], 0.95) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.95) is None


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert t_interval([2.0, 2.0, 2.0], 0.95) == (2.0, 2.0)
    assert welch_interval([3.0, 3.0], [1.0, 1.0], 0.95) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("count", "k"),
    # Conover, Practical Nonparametric Statistics, the sign test: which order statistics bound the median.
    [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10)],
)
def test_the_median_interval_takes_the_tabled_order_statistics(count: int, k: int) -> None:
    values = [float(value) for value in range(1, count + 1)]
    assert median_interval(values[::-1], 0.95) == (k, count - k + 1)


@pytest.mark.parametrize(
    "noise",
    ["normal", "bimodal", "skewed"],
)
def test_intervals_cover_as_often_as_they_say(noise: str) -> None:
    """The median's at least 95 % for any shape; Student's about that for the shapes that blocks have."""
    random = np.random.default_rng(5)
    shape = (3_000, 11)
    match noise:
        case "normal":
            draws, mean, median = random.normal(0, 1, shape), 0.0, 0.0
        case "bimodal":
            draws = random.choice([-0.125, 0.125], shape) + random.normal(0, 0.02, shape)
            mean = median = 0.0
        case _:
            draws, mean, median = random.gamma(4, 1, shape), 4.0, float(stats.gamma(4).median())
    student = [t_interval(row.tolist(), 0.95) for row in draws]
    assert 0.92 <= np.mean([low <= mean <= high for low, high in filter(None, student)]) <= 0.975
    if noise != "bimodal":  # where the median itself lies in a gap, all of which is the median
        order = [median_interval(row.tolist(), 0.95) for row in draws]
        assert np.mean([low <= median <= high for low, high in filter(None, order)]) >= 0.945


def test_the_lower_median_is_always_a_value() -> None:
    assert lower_median([4, 1, 3, 2]) == 2
    assert lower_median([7]) == 7


@pytest.mark.parametrize(
    ("raw", "adjusted", "why"),
    [
        ([], [], "no test"),
        ([0.04], [0.04], "one test needs no correction"),
        # Worked example of R's p.adjust documentation style: by hand, m·p, (m−1)·p, …, never falling.
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06], "the order of input is kept"),
        ([0.5, 0.6], [1.0, 1.0], "never above 1"),
        ([0.01, 0.01, 0.01], [0.03, 0.03, 0.03], "ties stay ties"),
        ([0.001, 0.02, 0.03, 0.9], [0.004, 0.06, 0.06, 0.9], "a later step can't be below an earlier one"),
    ],
)
def test_holm(raw: list[float], adjusted: list[float], why: str) -> None:
    assert holm(raw) == pytest.approx(adjusted), why


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_lies_between_raw_and_bonferroni_and_keeps_the_order(raw: list[float]) -> None:
    adjusted = holm(raw)
    for p, own in zip(raw, adjusted, strict=True):
        assert p <= own <= min(1.0, len(raw) * p) + 1e-12
    by_raw = [own for _, own in sorted(zip(raw, adjusted, strict=True))]
    assert by_raw == sorted(by_raw)


@pytest.mark.parametrize("sizes", [(5, 6), (8, 8)])
def test_the_permutation_test_agrees_with_scipy(sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(2)
    first, second = random.normal(0, 1, sizes[0]), random.normal(0.8, 1, sizes[1])
    reference = stats.permutation_test(
        (first, second),
        lambda a, b, axis: np.abs(np.mean(a, axis) - np.mean(b, axis)),
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    assert permutation_p(first.tolist(), second.tolist(), seed=1) == pytest.approx(reference.pvalue, rel=1e-6)


def test_the_permutation_test_draws_when_there_are_too_many_deals() -> None:
    random = np.random.default_rng(2)
    first, second = random.normal(0, 1, 12).tolist(), random.normal(0.8, 1, 12).tolist()
    p = permutation_p(first, second, seed=1)
    assert p == permutation_p(first, second, seed=1)
    assert p == pytest.approx(stats.ttest_ind(first, second).pvalue, abs=0.02)
    assert permutation_p([], second, seed=1) == 1
