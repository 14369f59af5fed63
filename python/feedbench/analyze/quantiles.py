"""Exact quantiles of integers by nearest rank: the value at rank ⌈q·n⌉, so always one that was measured.

q is a fraction, not a float: 0.999 × 1000 is 999.0000000000001 in some orders of multiplication, and its
ceiling is then the wrong rank.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np

from feedbench.samples import Nanoseconds

# What every summary of latencies prints, in this order, beside count, minimum, mean and maximum.
PRINTED = ("p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99")
_NAME = re.compile(r"p(\d{1,3}(?:\.\d{1,12})?)")


def parse_quantile(name: str) -> Fraction:
    """`p99.9` → 999/1000. ValueError unless it lies above p0 and below p100."""
    match = _NAME.fullmatch(name)
    share = Fraction(match[1]) / 100 if match else Fraction(0)
    if not 0 < share < 1:
        raise ValueError(f"`{name}` is no quantile: write p50, p99, p99.9 …")
    return share


def rank(share: Fraction, count: int) -> int:
    """The nearest rank, counted from 1; `count` must be positive."""
    return max(1, -(-share.numerator * count // share.denominator))


def minimum_count(share: Fraction) -> int:
    """Values needed before a quantile may be printed: 6 for p50, 368 for p99, 3,688 for p99.9, 36,887 for
    p99.99.

    From fewer, no order statistic bounds it with two-sided 95 % confidence: even the largest value lies below
    the quantile with probability q^n, which must not exceed 2.5 % (David & Nagaraja, Order Statistics, 7.1).
    Below the median the smallest value takes that role.
    """
    farther = max(share, 1 - share)
    return math.ceil(math.log(0.025) / math.log(farther))


def at(ascending: Nanoseconds, share: Fraction) -> int:
    """The quantile of values in ascending order, at least one."""
    return int(ascending[rank(share, len(ascending)) - 1])


def gated(ascending: Nanoseconds, share: Fraction) -> int | None:
    """The quantile, or None when there are too few values to print it."""
    return at(ascending, share) if len(ascending) >= minimum_count(share) else None


def total(values: Nanoseconds) -> int:
    """The exact sum: halves are added apart, since a sum of 64-bit values can outgrow 64 bits."""
    half = np.uint64(32)
    high, low = values >> half, values & np.uint64(2**32 - 1)
    return (int(high.sum(dtype=np.uint64)) << 32) + int(low.sum(dtype=np.uint64))


def summarize(ascending: Nanoseconds) -> dict[str, Any]:
    """The summary that findings.json holds; quantiles that may not be printed are None."""
    count = len(ascending)
    if count == 0:
        return {"count": 0, "min": None, "mean": None, **dict.fromkeys(PRINTED), "max": None}
    return {
        "count": count,
        "min": int(ascending[0]),
        # Python divides two integers with one correct rounding, however large they are.
        "mean": total(ascending) / count,
        **{name: gated(ascending, parse_quantile(name)) for name in PRINTED},
        "max": int(ascending[-1]),
    }


def percentile_curve(ascending: Nanoseconds) -> list[tuple[float, int]]:
    """About 60 points (share, latency): even steps for a distribution function, then ever finer ones into the
    tail.

    Ends with the last share that so many values can bound (`minimum_count`).
    """
    if len(ascending) == 0:
        return []
    body = [Fraction(step, 40) for step in range(1, 36)]  # 2.5 % to 87.5 %
    # 1 − 10^-k in eighths of k: equal steps on the axis of an HdrHistogram plot.
    tail = [1 - Fraction(round(10 ** (9 - k / 8)), 10**9) for k in range(8, 41)]
    printable = [share for share in body + tail if len(ascending) >= minimum_count(share)]
    return [(0.0, int(ascending[0])), *((float(share), at(ascending, share)) for share in printable)]
