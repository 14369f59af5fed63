"""One question for the time, and what its answer proves.

An offset is what the remote clock shows more than the local one: remote = local + offset. Grandhi and
Yadagiri (2026) take the middle of the round trip for the moment at which the remote clock was read (their
equation 4). That is a guess: the way there and the way back need not take equally long. What is certain is
that it was read after the question had left and before the answer was there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both within; in the unit of what it belongs to."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def overlaps(self, other: Interval) -> bool:
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class ClockSample:
    """`sent_ns` and `received_ns` are of the local clock, `remote_ns` is what the remote one showed between.

    A clock that is printed in whole milliseconds has a `resolution_ns` of 1,000,000: its reading is cut off,
    so the clock itself was up to that much further.
    """

    sent_ns: int
    remote_ns: int
    received_ns: int
    resolution_ns: int = 1

    def __post_init__(self) -> None:
        if self.received_ns < self.sent_ns:
            raise ValueError(f"the answer came {self.sent_ns - self.received_ns} ns before the question")
        if self.resolution_ns < 1:
            raise ValueError(f"a clock can't be read to {self.resolution_ns} ns")

    @property
    def round_trip_ns(self) -> int:
        return self.received_ns - self.sent_ns

    @property
    def midpoint_ns(self) -> float:
        """The local time in the middle of the round trip."""
        return self.sent_ns + self.round_trip_ns / 2

    @property
    def midpoint_offset_ns(self) -> float:
        """The offset if both ways took equally long, with what was cut off added back on average."""
        # In whole numbers first: nanoseconds since 1970 have more digits than a float keeps.
        return self.remote_ns - self.sent_ns - self.round_trip_ns / 2 + (self.resolution_ns - 1) / 2

    @property
    def bounds_ns(self) -> Interval:
        """What the offset was for certain, whatever the asymmetry: the midpoint ± half the round trip."""
        return Interval(
            self.remote_ns - self.received_ns, self.remote_ns - self.sent_ns + self.resolution_ns - 1
        )
