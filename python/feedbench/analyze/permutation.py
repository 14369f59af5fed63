"""The permutation test of two unpaired groups: could the same blocks, dealt out at random, differ as much?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

EXACT_UP_TO = 50_000  # ways to deal; 8 and 8 blocks have 12,870, 9 and 9 have 48,620
MONTE_CARLO_DRAWS = 50_000


def permutation_p(first: Sequence[float], second: Sequence[float], *, seed: int) -> float:
    """Two-sided p of equal means, exact up to EXACT_UP_TO deals, else by `seed`; 1 when a group is empty."""
    if not first or not second:
        return 1.0
    values = np.array([*first, *second])
    size, total = len(first), float(values.sum())
    if math.comb(len(values), size) <= EXACT_UP_TO:
        chosen = np.array(list(combinations(range(len(values)), size)))
        added = 0
    else:
        random = np.random.default_rng(seed)
        chosen = random.random((MONTE_CARLO_DRAWS, len(values))).argsort(axis=1)[:, :size]
        added = 1  # the observed deal is one more draw, without which p could be 0
    sums = values[chosen].sum(axis=1)
    differences = np.abs(sums / size - (total - sums) / len(second))
    observed = abs(float(np.mean(first)) - float(np.mean(second)))
    # The same numbers added in another order differ in their last bits.
    extreme = int(np.count_nonzero(differences >= observed - 1e-9 * float(np.abs(values).sum())))
    return (extreme + added) / (len(sums) + added)
