"""Are ages normally distributed? The paper's three tests, and what is worth knowing at this size.

With tens of millions of values every test rejects normality for the smallest departure, so a p-value tells
the sample's size. How far the distribution departs is told by its moments and by a Q-Q line. All but
Shapiro-Wilk are computed from the counts of each value, exactly, without the values one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from feedbench.pipeline.ages import Ages, Moments, moments

SHAPIRO_MOST = 5000  # beyond it, scipy's p-value may be wrong; the paper noticed the same
DAGOSTINO_LEAST = 20  # what the approximation of kurtosis wants (Anscombe and Glynn 1983)
LEAST = 3
SEED = 2020
# Critical value of Anderson-Darling's statistic at 5 %, mean and deviation estimated, for a large sample
# (Stephens 1974); scipy corrects it for a small one in the same way.
ANDERSON_5_PERCENT = 0.752
QQ_SHARES = (0.001, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.999)


@dataclass(frozen=True)
class NormalityTest:
    """A test of the hypothesis that the ages are normal. `normal` is whether it stands at 5 %; `p` is None
    where the test has only a critical value, and so is `statistic` where all values of a sample are the same.
    """

    name: str
    statistic: float | None
    p: float | None
    normal: bool
    of: int  # values that it looked at


@dataclass(frozen=True)
class QuantilePair:
    """A point of a Q-Q line: what a normal distribution of this mean and deviation has, and what is."""

    share: float
    normal_ms: float
    age_ms: float


@dataclass(frozen=True)
class Normality:
    moments: Moments
    tests: tuple[NormalityTest, ...]
    line: tuple[QuantilePair, ...]


def normality(ages: Ages) -> Normality:
    """No tests where all ages are the same, or there are fewer than three. ValueError for none at all."""
    shape = moments(ages)
    if shape.skewness is None or shape.excess_kurtosis is None or ages.count < LEAST:
        return Normality(shape, (), ())
    tests = [
        _shapiro_wilk(ages),
        _anderson_darling(ages, shape),
        _jarque_bera(ages.count, shape.skewness, shape.excess_kurtosis),
    ]
    if ages.count >= DAGOSTINO_LEAST:
        tests.insert(1, _dagostino(ages.count, shape.skewness, shape.excess_kurtosis))
    return Normality(shape, tuple(tests), _line(ages, shape))


def _shapiro_wilk(ages: Ages) -> NormalityTest:
    """On all values, or on a random sample of 5,000 of them (drawn without replacement, always the same)."""
    counts = ages.counts
    if ages.count > SHAPIRO_MOST:
        generator = np.random.default_rng(SEED)
        counts = generator.multivariate_hypergeometric(counts, SHAPIRO_MOST, method="marginals")
    sample = np.repeat(ages.values_ms, counts).astype(float)
    if sample[0] == sample[-1]:
        return NormalityTest("Shapiro-Wilk", None, None, False, len(sample))
    result = stats.shapiro(sample)
    return NormalityTest(
        "Shapiro-Wilk", float(result.statistic), float(result.pvalue), bool(result.pvalue > 0.05), len(sample)
    )


def _dagostino(n: int, skewness: float, excess_kurtosis: float) -> NormalityTest:
    """K² of D'Agostino and Pearson (1973), as scipy's normaltest: the squares of two normal deviates."""
    statistic = _skewness_deviate(n, skewness) ** 2 + _kurtosis_deviate(n, excess_kurtosis) ** 2
    p = float(stats.chi2.sf(statistic, 2))
    return NormalityTest("D'Agostino K²", statistic, p, p > 0.05, n)


def _skewness_deviate(n: int, skewness: float) -> float:
    """D'Agostino (1970)."""
    y = skewness * math.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta2 = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + math.sqrt(2 * (beta2 - 1))
    return math.asinh(y / math.sqrt(2 / (w2 - 1))) / math.sqrt(0.5 * math.log(w2))


def _kurtosis_deviate(n: int, excess_kurtosis: float) -> float:
    """Anscombe and Glynn (1983)."""
    mean = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (excess_kurtosis + 3 - mean) / math.sqrt(variance)
    root_beta1 = (
        6
        * (n**2 - 5 * n + 2)
        / ((n + 7) * (n + 9))
        * math.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    )
    a = 6 + 8 / root_beta1 * (2 / root_beta1 + math.sqrt(1 + 4 / root_beta1**2))
    divisor = 1 + x * math.sqrt(2 / (a - 4))
    cube_root = math.copysign(abs((1 - 2 / a) / divisor) ** (1 / 3), divisor)
    return (1 - 2 / (9 * a) - cube_root) / math.sqrt(2 / (9 * a))


def _anderson_darling(ages: Ages, shape: Moments) -> NormalityTest:
    """A² of Anderson and Darling (1952), ties taken together: the odd numbers 2i − 1 over the ranks a+1 … b
    add up to b² − a², and over the same ranks counted from above likewise.
    """
    n = ages.count
    sample_deviation = shape.deviation_ms * math.sqrt(n / (n - 1))
    z = (ages.values_ms - shape.mean_ms) / sample_deviation
    upto = np.cumsum(ages.counts).astype(float)
    before = upto - ages.counts
    from_below = upto**2 - before**2
    from_above = (n - before) ** 2 - (n - upto) ** 2
    statistic = -n - float(from_below @ stats.norm.logcdf(z) + from_above @ stats.norm.logsf(z)) / n
    critical = ANDERSON_5_PERCENT / (1 + 0.75 / n + 2.25 / n**2)
    return NormalityTest("Anderson-Darling", statistic, None, statistic < critical, n)


def _jarque_bera(n: int, skewness: float, excess_kurtosis: float) -> NormalityTest:
    statistic = n / 6 * (skewness**2 + excess_kurtosis**2 / 4)
    p = float(stats.chi2.sf(statistic, 2))
    return NormalityTest("Jarque-Bera", statistic, p, p > 0.05, n)


def _line(ages: Ages, shape: Moments) -> tuple[QuantilePair, ...]:
    return tuple(
        QuantilePair(
            share, shape.mean_ms + shape.deviation_ms * float(stats.norm.ppf(share)), ages.quantile(share)
        )
        for share in QQ_SHARES
    )
