"""How fast one clock gains on the other: a robust line through the midpoints.

The bounds of `bounds.py` hold for certain, but a round trip of 40 ms leaves the drift of five minutes open to
±130 ppm. If the asymmetry of the path has no trend, the slope of the midpoints is far finer. The line is
Theil and Sen's (Sen 1968): half of the samples may be wild. Its interval is Sen's, from the ranks of all
slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from feedbench.clock_offset.sample import ClockSample, Interval

# Sen's interval supposes samples that are independent of each other, which those of one path are not quite.
CONFIDENCE = 0.99
LEAST_SAMPLES = 10


@dataclass(frozen=True)
class Drift:
    """`ppm` is how many microseconds the remote clock gains each second (its own interval in
    `interval_ppm`).
    """

    ppm: float
    interval_ppm: Interval


def robust_drift(samples: Sequence[ClockSample]) -> Drift | None:
    """None from fewer than ten samples, or where the drift is anybody's guess.

    Only the half with the shorter round trips counts: what a queue adds, it adds to one way (best-of-N, as in
    NTP's clock filter, RFC 5905 section 10).
    """
    usable = best_half(samples)
    if len(usable) < LEAST_SAMPLES:
        return None
    start = usable[0]
    seconds = np.array([(sample.midpoint_ns - start.midpoint_ns) / 1e9 for sample in usable])
    if np.ptp(seconds) <= 0:
        return None
    base_ns = start.remote_ns - start.sent_ns
    offsets = np.array([_above(sample, base_ns) for sample in usable])
    line = stats.theilslopes(offsets, seconds, alpha=CONFIDENCE)
    return Drift(
        ppm=float(line.slope) / 1_000,
        interval_ppm=Interval(float(line.low_slope) / 1_000, float(line.high_slope) / 1_000),
    )


def best_half(samples: Sequence[ClockSample]) -> list[ClockSample]:
    """Those with the shorter round trips, in the order of time; all of fewer than twenty."""
    if len(samples) < 2 * LEAST_SAMPLES:
        return sorted(samples, key=lambda sample: sample.sent_ns)
    kept = sorted(samples, key=lambda sample: sample.round_trip_ns)[: (len(samples) + 1) // 2]
    return sorted(kept, key=lambda sample: sample.sent_ns)


def _above(sample: ClockSample, base_ns: int) -> float:
    """The midpoint's offset less `base_ns`: subtracted in whole numbers, before a float rounds it."""
    return (
        sample.remote_ns
        - sample.sent_ns
        - base_ns
        - sample.round_trip_ns / 2
        + (sample.resolution_ns - 1) / 2
    )
