"""Where each slice of a cell's samples begins and ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from feedbench.analyze import quantiles
from feedbench.samples import Nanoseconds

Slices = list[tuple[int, int]]

UNSLICED_PARTS = 40  # as many as a second has slices of 25 ms


def slices_of(numbers: NDArray[np.uint32]) -> Slices:
    """Half-open ranges of records with one slice number; records stand in order of receipt, so slices don't
    mix.
    """
    if numbers.size == 0:
        return []
    cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    bounds = [0, *map(int, cuts), int(numbers.size)]
    return list(pairwise(bounds))


def in_time(slices: Slices) -> Slices:
    """Ranges that show a course over time: the slices, or an unsliced measurement cut into UNSLICED_PARTS."""
    if len(slices) != 1:
        return slices
    ((begin, end),) = slices
    parts = min(UNSLICED_PARTS, end - begin)
    bounds = [begin + (end - begin) * part // parts for part in range(parts + 1)]
    return list(pairwise(bounds))


def medians(latency_ns: Nanoseconds, slices: Slices) -> list[int]:
    """The median of each slice, in ns."""
    half = quantiles.parse_quantile("p50")
    return [
        int(np.partition(latency_ns[begin:end], place := quantiles.rank(half, end - begin) - 1)[place])
        for begin, end in slices
    ]
