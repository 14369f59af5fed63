"""What all round trips together prove about the remote clock: certain bounds, without a guess at asymmetry.

If the remote clock gains steadily, its offset is a straight line over local time, and each sample's bounds
are a gate through which that line passes. The lines through all gates make a convex polygon in the plane of
(offset, drift); its corners give the least and greatest offset at any time, and the least and greatest drift.
This is the convex-hull view of Duda et al., "Estimating global time in distributed systems" (ICDCS 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedbench.clock_offset.sample import ClockSample, Interval

# No clock that keeps time at all is further off: the kernel's and NTP's own limit.
GREATEST_DRIFT_PPM = 500.0

# The line `offset + drift · seconds` as a point of the plane, relative to a reference: small numbers, so that
# floats keep fractions of a nanosecond.
Point = tuple[float, float]


class ContradictionError(ValueError):
    """No steadily running clock passes all samples: it was set, or changed its rate, while they were
    taken.
    """


@dataclass(frozen=True)
class OffsetBounds:
    """The polygon of lines that pass all samples, around the local time `reference_ns`.

    Its corners are (offset in ns above `base_ns` at the reference, drift in ns per s).
    """

    reference_ns: int
    base_ns: int
    corners: tuple[Point, ...]

    @property
    def drift_ppm(self) -> Interval:
        drifts = [drift for _, drift in self.corners]
        return Interval(min(drifts) / 1_000, max(drifts) / 1_000)

    def above_base(self, local_ns: int) -> Interval:
        """Least and greatest offset at a local time, less `base_ns`; wider outside the time sampled."""
        seconds = (local_ns - self.reference_ns) / 1e9
        offsets = [offset + drift * seconds for offset, drift in self.corners]
        return Interval(min(offsets), max(offsets))

    def at(self, local_ns: int) -> Interval:
        """The same with `base_ns`, to what a float keeps of it: 256 ns where it is the time since 1970."""
        above = self.above_base(local_ns)
        return Interval(self.base_ns + above.low, self.base_ns + above.high)


def offset_bounds(samples: Sequence[ClockSample]) -> OffsetBounds:
    """From one sample or more; ContradictionError when no line passes them all."""
    if not samples:
        raise ValueError("no samples of the clock")
    best = min(samples, key=lambda sample: sample.round_trip_ns)
    reference_ns, base_ns = best.sent_ns, best.remote_ns - best.received_ns
    room, steepest = best.bounds_ns.width + 1.0, GREATEST_DRIFT_PPM * 1_000
    # More than the best sample allows in the whole of its own round trip.
    room += steepest * (best.round_trip_ns / 1e9 + 1)
    polygon: list[Point] = [(-room, -steepest), (room, -steepest), (room, steepest), (-room, steepest)]
    for sample in samples:
        # When the question left, the remote clock showed no more than the answer says; when the answer was
        # there, no less. So each gate stands at its own end of the round trip, and drift within it is no
        # matter.
        low = float(sample.remote_ns - sample.received_ns - base_ns)
        high = float(sample.remote_ns - sample.sent_ns + sample.resolution_ns - 1 - base_ns)
        polygon = _clipped(polygon, (sample.received_ns - reference_ns) / 1e9, low, sign=1.0)
        polygon = _clipped(polygon, (sample.sent_ns - reference_ns) / 1e9, high, sign=-1.0)
        if not polygon:
            raise ContradictionError(
                "the samples contradict each other: one of the clocks was set while they were taken"
            )
    return OffsetBounds(reference_ns, base_ns, tuple(polygon))


def _clipped(polygon: list[Point], at_s: float, limit: float, *, sign: float) -> list[Point]:
    """The part in which sign · (offset + drift · at_s) ≥ sign · limit (Sutherland and Hodgman 1974)."""

    def above(point: Point) -> float:
        return sign * (point[0] + point[1] * at_s - limit)

    kept: list[Point] = []
    for index, end in enumerate(polygon):
        start = polygon[index - 1]
        here, there = above(start), above(end)
        if (here >= 0) != (there >= 0):
            share = here / (here - there)
            kept.append((start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])))
        if there >= 0:
            kept.append(end)
    return kept
