"""Cliff's delta between the messages of two cells: how much their distributions overlap.

Compared within slices only: the k-th slice of one cell with the k-th of the other, which stand a fraction of
a second apart, so that the machine's moods cancel out. Never a test: neighbouring messages resemble each
other.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from feedbench.analyze.slices import Slices
from feedbench.samples import Nanoseconds

MESSAGES_PER_SLICE = 16
MESSAGES_UNSLICED = 256


def sample_messages(latency_ns: Nanoseconds, slices: Slices) -> Nanoseconds:
    """Latencies of evenly spaced messages, one row a slice; a slice of fewer messages repeats some."""
    count = MESSAGES_PER_SLICE if len(slices) > 1 else MESSAGES_UNSLICED
    steps = np.arange(count)
    rows = [latency_ns[begin + steps * (end - begin) // count] for begin, end in slices]
    return np.array(rows, np.uint64).reshape(len(rows), count)


def cliffs_delta(first: Mapping[int, Nanoseconds], second: Mapping[int, Nanoseconds]) -> float | None:
    """P(first slower) − P(first faster) over messages of the same block and slice; None without common ones.

    −1: each message of the first beat each of the second; 0: as often one as the other.
    """
    total, pairs = 0, 0
    for block in first.keys() & second.keys():
        rows = min(len(first[block]), len(second[block]))
        a, b = first[block][:rows, :, None], second[block][:rows, None, :]
        total += int(np.count_nonzero(a > b)) - int(np.count_nonzero(a < b))
        pairs += rows * a.shape[1] * b.shape[2]
    return total / pairs if pairs else None
