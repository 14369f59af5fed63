"""The studentized permutation test of two unpaired groups (Janssen 1997; Chung & Romano 2013).

Exact where both groups come from one distribution, and right in the limit where their means are equal and
their spreads are not: a steady and a restless target of the same speed. The plain difference of means lacks
the second property when the groups are of different sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 50_000  # ways to deal
FEWEST_DRAWS = 50_000


def studentized_p(first: Sequence[float], second: Sequence[float], *, seed: int, draws: int) -> float:
    """Two-sided p of equal means; 1 unless both groups have two values.

    Of too many deals to go through, so many `draws` are dealt by chance.
    """
    if min(len(first), len(second)) < 2:
        return 1.0
    values = np.array([*first, *second], np.float64)
    values -= values.mean()
    size = len(first)
    exact = math.comb(len(values), size) <= EXACT_UP_TO
    deals = _every_deal(len(values), size) if exact else _random_deals(len(values), size, seed, draws)
    distances = _welch_t(deals, values)
    observed = float(_welch_t((np.arange(len(values))[None, :] < size).astype(np.float64), values)[0])
    # The same numbers added in another order differ in their last bits.
    extreme = int(np.count_nonzero(distances >= observed * (1 - 1e-9)))
    if exact:
        return extreme / len(distances)
    # The observed deal is one more draw, without which p could be 0 (Phipson & Smyth 2010).
    return (extreme + 1) / (len(distances) + 1)


def draws_for(tests: int, alpha: float) -> int:
    """Deals by chance before the smallest possible p can pass Holm's first step with room to spare."""
    return max(FEWEST_DRAWS, math.ceil(2 * tests / alpha))


def size_needed(tests: int, alpha: float) -> int:
    """Values a group needs before the smallest possible p can pass Holm's first step among `tests`."""
    size = 2
    while 2 / math.comb(2 * size, size) > alpha / max(tests, 1):
        size += 1
    return size


def _welch_t(dealt: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """|t| of each deal, a row of ones and zeros; infinite where groups differ that have no spread at all."""
    size = int(dealt[0].sum())
    rest = len(values) - size
    sums, squares = dealt @ values, dealt @ values**2
    means = sums / size, (values.sum() - sums) / rest
    spreads = (
        np.maximum(squares - size * means[0] ** 2, 0) / ((size - 1) * size),
        np.maximum((values**2).sum() - squares - rest * means[1] ** 2, 0) / ((rest - 1) * rest),
    )
    distance, spread = np.abs(means[0] - means[1]), np.sqrt(spreads[0] + spreads[1])
    tiny = 1e-12 * float(np.abs(values).max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > tiny, distance / spread, np.where(distance > tiny, np.inf, 0.0))


@lru_cache(maxsize=8)
def _every_deal(count: int, size: int) -> NDArray[np.float64]:
    chosen = np.array(list(combinations(range(count), size)))
    deals = np.zeros((len(chosen), count))
    np.put_along_axis(deals, chosen, 1.0, axis=1)
    return deals


@lru_cache(maxsize=8)
def _random_deals(count: int, size: int, seed: int, draws: int) -> NDArray[np.float64]:
    ranks = np.random.default_rng(seed).random((draws, count)).argsort(axis=1)
    return (ranks < size).astype(np.float64)
