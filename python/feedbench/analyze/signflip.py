"""The sign-flip test of paired differences (Fisher's randomisation test).

Were two targets the same program, each block's difference could as well have come out with the other sign. So
the observed mean is compared with the means under all 2^B choices of signs: exact for any distribution that
is symmetric around zero, which a difference of two exchangeable things is, bimodal noise or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 20  # differences; 2^19 means are computed in a few milliseconds
MONTE_CARLO_DRAWS = 100_000


def sign_flip_p(differences: Sequence[float], *, seed: int) -> float:
    """Two-sided p of the mean being zero; 1 without differences. `seed` matters beyond EXACT_UP_TO
    differences only.
    """
    if not differences:
        return 1.0
    sums = _absolute_sums(differences, seed)
    # Sums of the same numbers in another order differ in their last bits; such a tie must count as a tie.
    tolerance = 1e-9 * math.fsum(abs(difference) for difference in differences)
    extreme = int(np.count_nonzero(sums >= abs(math.fsum(differences)) - tolerance))
    if len(differences) <= EXACT_UP_TO:
        return extreme / sums.size
    # The observed signs are one more draw, without which p could be 0 (Phipson & Smyth 2010).
    return (extreme + 1) / (sums.size + 1)


def sign_flip_p_of_vectors(vectors: NDArray[np.float64], *, seed: int) -> float:
    """p of the mean vector being zero, from one vector a block (row): the length of the mean under all
    choices of signs of whole blocks. `seed` matters beyond EXACT_UP_TO blocks only.

    One test for all elements together, exact for any dependence among the elements of a block.
    """
    # Lengths of sums stay the same in the at most B dimensions that B vectors span.
    points = np.linalg.qr(vectors.T).R.T
    blocks = len(points)
    # Sums of the same numbers in another order differ in their last bits; such a tie must count as a tie.
    tolerance = 1e-9 * float((points**2).sum()) * blocks
    observed = float((points.sum(axis=0) ** 2).sum())
    if blocks <= EXACT_UP_TO:
        sums = points[:1]
        for point in points[1:]:
            sums = np.concatenate((sums + point, sums - point))
        lengths = (sums**2).sum(axis=1)
        return int(np.count_nonzero(lengths >= observed - tolerance)) / len(lengths)
    lengths = ((_random_signs(blocks, seed) @ points) ** 2).sum(axis=1)
    # The observed signs are one more draw, without which p could be 0 (Phipson & Smyth 2010).
    return (int(np.count_nonzero(lengths >= observed - tolerance)) + 1) / (len(lengths) + 1)


def null_mean_bound(differences: Sequence[float], share: float, *, seed: int) -> float:
    """What |mean| stays within in `share` of all choices of signs; 0 without differences."""
    return _null_mean_bound(tuple(differences), share, seed) if differences else 0.0


def blocks_needed(tests: int, alpha: float) -> int:
    """Blocks before the smallest possible p, 2^(1−B), can pass Holm's first step among `tests` at level
    `alpha`.
    """
    return 1 + math.ceil(math.log2(max(tests, 1) / alpha))


# Every pair of a question asks for the same sentinel's: of 63 servers 2,000 pairs want two bounds.
@lru_cache(maxsize=64)
def _null_mean_bound(differences: tuple[float, ...], share: float, seed: int) -> float:
    sums = np.sort(_absolute_sums(differences, seed))
    return float(sums[math.ceil(share * sums.size) - 1]) / len(differences)


def _absolute_sums(differences: Sequence[float], seed: int) -> NDArray[np.float64]:
    """|sum| under all choices of signs (one half of them: the other mirrors it), or under random ones."""
    values = np.asarray(differences, np.float64)
    if values.size <= EXACT_UP_TO:
        sums = values[:1]
        for value in values[1:]:
            sums = np.concatenate((sums + value, sums - value))
        return np.abs(sums)
    return np.abs(_random_signs(values.size, seed) @ values)


# Drawing them takes ten times as long as using them, and every pair of a question wants the same.
@lru_cache(maxsize=2)
def _random_signs(count: int, seed: int) -> NDArray[np.float64]:
    """MONTE_CARLO_DRAWS rows of `count` ones with random signs."""
    signs = np.random.default_rng(seed).integers(0, 2, (MONTE_CARLO_DRAWS, count), np.int8)
    return signs.astype(np.float64) * 2 - 1
