"""Confidence intervals over blocks. The block is the random unit, not the message: messages of one process
resemble each other, and an interval computed from them would call ten runs of one program different
(METHODOLOGY.md).

The plain percentile bootstrap is not here: from ten blocks its 95 % intervals cover 89 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

Interval = tuple[float, float]


def t_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Student's interval of the mean; None from fewer than two values."""
    count = len(values)
    if count < 2:
        return None
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * deviation / math.sqrt(count)
    return mean - half, mean + half


def welch_interval(first: Sequence[float], second: Sequence[float], confidence: float) -> Interval | None:
    """Welch's interval of mean(first) − mean(second), unpaired; None unless both have two values."""
    if min(len(first), len(second)) < 2:
        return None
    shares = [float(np.var(values, ddof=1)) / len(values) for values in (first, second)]
    difference = float(np.mean(first) - np.mean(second))
    if sum(shares) == 0:
        return difference, difference
    # Welch–Satterthwaite.
    freedom = sum(shares) ** 2 / sum(
        share**2 / (len(values) - 1) for share, values in zip(shares, (first, second), strict=True)
    )
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(sum(shares))
    return difference - half, difference + half


def median_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Two order statistics around the median, whatever the distribution; None from too few values (6 for 95
    %).

    The k-th smallest and k-th largest, with the largest k for which each lies on the wrong side of the median
    with a binomial probability of at most (1 − confidence)/2.
    """
    count = len(values)
    # The largest k with P(Binomial(n, ½) ≤ k − 1) ≤ (1 − confidence)/2.
    k = 0
    while stats.binom.cdf(k, count, 0.5) <= (1 - confidence) / 2:
        k += 1
    if k == 0:
        return None
    ascending = sorted(values)
    return ascending[k - 1], ascending[count - k]


def lower_median(values: Sequence[float]) -> float:
    """The median by nearest rank, so always one of the values."""
    return sorted(values)[(len(values) - 1) // 2]
