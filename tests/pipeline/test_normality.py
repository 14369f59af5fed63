"""The tests of normality give scipy's numbers, though they see counts and not values."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from feedbench.pipeline.ages import ages_of
from feedbench.pipeline.normality import Normality, NormalityTest, normality


def by_name(found: Normality) -> dict[str, NormalityTest]:
    return {test.name: test for test in found.tests}


@pytest.fixture(scope="module", params=[40, 3000])
def values(request: pytest.FixtureRequest) -> list[int]:
    """Skewed, in whole milliseconds, with many ties."""
    drawn = np.random.default_rng(1).lognormal(3, 0.3, request.param)
    return [round(value) for value in drawn]


def test_each_statistic_is_scipys(values: list[int]) -> None:
    found = by_name(normality(ages_of(Counter(values))))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FutureWarning
        )  # of a p-value for Anderson-Darling, not asked for here
        anderson = stats.anderson(values)
    assert found["Anderson-Darling"].statistic == pytest.approx(anderson.statistic)
    for name, theirs in (
        ("Shapiro-Wilk", stats.shapiro(sorted(values))),
        ("D'Agostino K²", stats.normaltest(values)),
        ("Jarque-Bera", stats.jarque_bera(values)),
    ):
        assert found[name].statistic == pytest.approx(theirs.statistic)
        assert found[name].p == pytest.approx(theirs.pvalue)


def test_what_is_normal_is_not_rejected_and_what_is_skewed_is() -> None:
    generator = np.random.default_rng(2)
    normal = [round(value) for value in generator.normal(500, 100, 4000)]
    skewed = [round(value) for value in generator.exponential(100, 4000)]
    assert all(test.normal for test in normality(ages_of(Counter(normal))).tests)
    assert not any(test.normal for test in normality(ages_of(Counter(skewed))).tests)


def test_shapiro_sees_at_most_5000_and_the_same_ones_each_time() -> None:
    ages = ages_of(Counter(round(value) for value in np.random.default_rng(3).normal(500, 100, 20_000)))
    first, second = (by_name(normality(ages))["Shapiro-Wilk"] for _ in range(2))
    assert first.of == 5000
    assert first == second


def test_a_normal_distribution_lies_on_its_line() -> None:
    ages = ages_of(Counter(round(value) for value in np.random.default_rng(4).normal(500, 100, 50_000)))
    for pair in normality(ages).line:
        assert pair.age_ms == pytest.approx(pair.normal_ms, abs=15)


@pytest.mark.parametrize("values", [[7] * 50, [1, 2]])
def test_too_little_to_test_is_not_tested(values: list[int]) -> None:
    found = normality(ages_of(Counter(values)))
    assert found.tests == ()
    assert found.line == ()
