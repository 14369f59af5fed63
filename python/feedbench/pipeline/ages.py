"""How old a client's events were, as exact counts of each value.

Ages are whole milliseconds, so a hundred million of them are a few thousand values with their counts: enough
for every statistic below to be exact, and small enough to keep.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedbench.papers.scores import FiveNumbers

WHISKER_IQRS = 1.5


@dataclass(frozen=True)
class Ages:
    """Distinct ages in ms, ascending, and how many events had each."""

    values_ms: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """By linear interpolation between neighbours, as NumPy and Matplotlib's box plots do. ms."""
        rank = (self.count - 1) * share
        below, above = self.at_rank(math.floor(rank)), self.at_rank(math.ceil(rank))
        return below + (above - below) * (rank - math.floor(rank))

    def at_rank(self, rank: int) -> int:
        """The age that stands at place `rank` of all in ascending order, from 0."""
        place = int(np.searchsorted(np.cumsum(self.counts), rank, side="right"))
        return int(self.values_ms[place])

    def negative(self) -> int:
        """How many events came before they happened."""
        return int(self.counts[self.values_ms < 0].sum())


def ages_of(counts: Mapping[int, int]) -> Ages:
    """From how often each age in ms was seen."""
    values = sorted(counts)
    return Ages(
        np.array(values, dtype=np.int64), np.array([counts[value] for value in values], dtype=np.int64)
    )


@dataclass(frozen=True)
class Moments:
    """Of the population; `excess_kurtosis` is 0 for a normal distribution. The last two are None where all
    values are the same.
    """

    mean_ms: float
    deviation_ms: float
    skewness: float | None
    excess_kurtosis: float | None


@dataclass(frozen=True)
class Box:
    """Both readings of “five-number summary”. The paper's: minimum and maximum are where the whiskers of a
    box plot end, 1.5 box lengths from the box at most, and `outliers` lie beyond them. And the textbook's:
    the least and the greatest of all.
    """

    whiskers: FiveNumbers
    extremes: FiveNumbers
    outliers: int


def box(ages: Ages) -> Box:
    """ValueError when there are no ages."""
    if not ages.count:
        raise ValueError("there is no age to summarize")
    q1, median, q3 = (ages.quantile(share) for share in (0.25, 0.5, 0.75))
    reach = WHISKER_IQRS * (q3 - q1)
    inside = (ages.values_ms >= q1 - reach) & (ages.values_ms <= q3 + reach)
    # The interpolated ends of a box may lie where no value is; a whisker never ends inside its box.
    low = min(float(ages.values_ms[inside].min()), q1) if inside.any() else q1
    high = max(float(ages.values_ms[inside].max()), q3) if inside.any() else q3
    return Box(
        whiskers=FiveNumbers(low, q1, median, q3, high),
        extremes=FiveNumbers(float(ages.values_ms[0]), q1, median, q3, float(ages.values_ms[-1])),
        outliers=int(ages.counts[~inside].sum()),
    )


def moments(ages: Ages) -> Moments:
    """ValueError when there are no ages."""
    if not ages.count:
        raise ValueError("there is no age to summarize")
    shares = ages.counts / ages.count
    mean = float(shares @ ages.values_ms)
    deviations = ages.values_ms - mean
    second, third, fourth = (float(shares @ deviations**power) for power in (2, 3, 4))
    if second == 0:
        return Moments(mean, 0.0, None, None)
    return Moments(mean, math.sqrt(second), third / second**1.5, fourth / second**2 - 3)


def quantiles(ages: Ages, names: Sequence[str]) -> dict[str, float]:
    """By names such as `p99.9`. ms."""
    return {name: ages.quantile(float(name.removeprefix("p")) / 100) for name in names}
