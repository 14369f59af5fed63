"""What a host is asked before it may take part: feedbench's version, and what its clock shows.

The scheduler answers; the host that wants to join judges itself, and a controller judges it again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from feedbench import __version__
from feedbench.clock_offset.sample import ClockSample, Interval
from feedbench.errors import ClusterError

# Stamps of two hosts go into one table: beyond this a host's log can't be read beside another's.
CLOCK_LIMIT_NS = 50_000_000
GREETINGS = 8  # the one with the shortest round trip counts


@dataclass(frozen=True)
class Greeting:
    """What one side says of itself."""

    version: str
    unix_ns: int
    monotonic_ns: int


def own_greeting() -> Greeting:
    """Of this process, at this moment."""
    return Greeting(__version__, time.time_ns(), time.monotonic_ns())


def check_version(theirs: str, *, who: str) -> None:
    """ClusterError when two hosts would not run the same feedbench."""
    if theirs != __version__:
        raise ClusterError(
            f"refused: it runs feedbench {theirs}, and this is {__version__}",
            where=who,
            hint="install the same version on all hosts",
        )


def check_clock(samples: Sequence[ClockSample], *, who: str) -> Interval:
    """The bounds of the other clock's offset; ClusterError when it is certainly beyond the limit."""
    bounds = min(samples, key=lambda sample: sample.round_trip_ns).bounds_ns
    if bounds.low > CLOCK_LIMIT_NS or bounds.high < -CLOCK_LIMIT_NS:
        raise ClusterError(
            f"refused: the clocks differ by {abs(bounds.middle) / 1e6:.0f} ms, "
            f"and {CLOCK_LIMIT_NS // 10**6} ms is the limit",
            where=who,
            hint="let chrony or ntpd set both, and look at `chronyc tracking`",
        )
    return bounds
