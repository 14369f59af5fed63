"""The sign-flip test of paired differences (Fisher's randomisation test).

Were two targets the same program, each block's difference could as well have come out with the other sign. So
the observed mean is compared with the means under all 2^B choices of signs: exact for any distribution that
is symmetric around zero, which a difference of two exchangeable things is, bimodal noise or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def null_mean_bound(differences: Sequence[float], share: float, *, seed: int) -> float:
    """What |mean| stays within in `share` of all choices of signs; 0 without differences."""
    if not differences:
        return 0.0
    sums = np.sort(_absolute_sums(differences, seed))
    return float(sums[math.ceil(share * sums.size) - 1]) / len(differences)


def blocks_needed(tests: int, alpha: float) -> int:
    """Blocks before the smallest possible p, 2^(1−B), can pass Holm's first step among `tests` at level
    `alpha`.
    """
    return 1 + math.ceil(math.log2(max(tests, 1) / alpha))


def _absolute_sums(differences: Sequence[float], seed: int) -> NDArray[np.float64]:
    """|sum| under all choices of signs (one half of them: the other mirrors it), or under random ones."""
    values = np.asarray(differences, np.float64)
    if values.size <= EXACT_UP_TO:
        sums = values[:1]
        for value in values[1:]:
            sums = np.concatenate((sums + value, sums - value))
        return np.abs(sums)
    signs = np.random.default_rng(seed).integers(0, 2, (MONTE_CARLO_DRAWS, values.size), np.int8) * 2 - 1
    return np.abs(signs @ values)
