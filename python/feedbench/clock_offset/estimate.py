"""What is known of a remote clock's offset, from all samples of a run, and what may be ranked across
clocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from feedbench.clock_offset.bounds import ContradictionError, OffsetBounds, offset_bounds
from feedbench.clock_offset.drift import Drift, robust_drift
from feedbench.clock_offset.sample import ClockSample, Interval

# Grandhi and Yadagiri's N (equation 5).
PAPER_SAMPLES = 5

Order = Literal["first", "second", "undecided"]


@dataclass(frozen=True)
class OffsetEstimate:
    """Offsets are remote − local. `bounds` is None, and `contradiction` says why, when no steady clock
    fits.
    """

    samples: int
    paper_offset_ns: float
    best_offset_ns: float
    best_bounds_ns: Interval
    bounds: OffsetBounds | None
    drift: Drift | None
    contradiction: str | None = None

    def interval_ns(self, local_ns: int) -> Interval | None:
        """What the offset was at a local time; None when the samples contradict each other."""
        return None if self.bounds is None else self.bounds.at(local_ns)


@dataclass(frozen=True)
class OneWay:
    """A delay across two clocks. `interval_ns` is None where the offset is not known at all."""

    value_ns: float
    interval_ns: Interval | None


def paper_offset_ns(samples: Sequence[ClockSample]) -> float:
    """The median of the midpoints, as in the paper: a value without an interval."""
    return float(median(sample.midpoint_offset_ns for sample in samples))


def estimate_offset(samples: Sequence[ClockSample]) -> OffsetEstimate:
    """From one sample or more, in any order; ValueError from none.

    `paper_offset_ns` is of the first five samples, those that the study took before its run.
    """
    if not samples:
        raise ValueError("no samples of the clock")
    in_time = sorted(samples, key=lambda sample: sample.sent_ns)
    best = min(in_time, key=lambda sample: sample.round_trip_ns)
    bounds, contradiction = None, None
    try:
        bounds = offset_bounds(in_time)
    except ContradictionError as error:
        contradiction = str(error)
    return OffsetEstimate(
        samples=len(in_time),
        paper_offset_ns=paper_offset_ns(in_time[:PAPER_SAMPLES]),
        best_offset_ns=best.midpoint_offset_ns,
        best_bounds_ns=best.bounds_ns,
        bounds=bounds,
        drift=robust_drift(in_time),
        contradiction=contradiction,
    )


def one_way(estimate: OffsetEstimate, *, remote_ns: int, received_ns: int) -> OneWay:
    """From the remote clock's `remote_ns` to the local clock's `received_ns`.

    The value uses the middle of what the offset can be, the interval all of it: a greater offset means that
    the remote clock was further ahead, so that what it stamped is older.
    """
    apparent_ns = received_ns - remote_ns
    if estimate.bounds is None:
        return OneWay(apparent_ns + estimate.best_offset_ns, None)
    above = estimate.bounds.above_base(received_ns)
    # In whole numbers first: an offset may be all the time since 1970, and a float keeps 256 ns of that.
    based_ns = apparent_ns + estimate.bounds.base_ns
    return OneWay(based_ns + above.middle, Interval(based_ns + above.low, based_ns + above.high))


def smaller(first: OneWay, second: OneWay) -> Order:
    """Which of two is less; `undecided` where one may be as the other, or an interval is missing."""
    if first.interval_ns is None or second.interval_ns is None:
        return "undecided"
    if first.interval_ns.overlaps(second.interval_ns):
        return "undecided"
    return "first" if first.interval_ns.high < second.interval_ns.low else "second"
