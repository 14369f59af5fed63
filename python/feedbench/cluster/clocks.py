"""Clocks of hosts against the controller's: samples in, a document out (blocks/<n>/clocks/<host>.json).

Each question to a host is a sample. The offset lies between what the round trip proves, and narrower where
all samples of a block are taken together (clock_offset/bounds.py); nothing is guessed about asymmetry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from feedbench.clock_offset.bounds import ContradictionError, offset_bounds
from feedbench.clock_offset.sample import ClockSample
from feedbench.paths import SCHEMA

Phase = Literal["before", "during", "after"]
PHASES: tuple[Phase, ...] = ("before", "during", "after")


@dataclass
class HostClock:
    """What one host's CLOCK_MONOTONIC showed while a block was measured, by when it was asked."""

    host: str
    discipline: Mapping[str, Any]
    samples: dict[Phase, list[ClockSample]] = field(default_factory=lambda: {phase: [] for phase in PHASES})

    def add(self, phase: Phase, sample: ClockSample) -> None:
        self.samples[phase].append(sample)

    @property
    def all(self) -> list[ClockSample]:
        return [sample for phase in PHASES for sample in self.samples[phase]]

    @property
    def best(self) -> ClockSample:
        """The shortest round trip so far."""
        return min(self.all, key=lambda sample: sample.round_trip_ns)

    def offset_ns(self) -> int:
        """The best single guess, for a start by clock: the middle of the shortest round trip."""
        best = self.best
        # In whole numbers: a host's clock may have run for years longer than ours.
        return best.remote_ns - (best.sent_ns + best.received_ns) // 2

    def document(self) -> dict[str, Any]:
        """clocks/<host>.json; offsets are the host's clock less the controller's."""
        return {
            "schema": SCHEMA,
            "host": self.host,
            "clock": "CLOCK_MONOTONIC",
            "against": "controller",
            **{phase: _phase(self.samples[phase]) for phase in PHASES},
            **_whole(self.all),
            "discipline": dict(self.discipline),
        }


def _phase(samples: Sequence[ClockSample]) -> dict[str, Any] | None:
    """Best of N: the sample with the shortest round trip proves most."""
    if not samples:
        return None
    best = min(samples, key=lambda sample: sample.round_trip_ns)
    return {
        "samples": len(samples),
        "round_trip_ns": best.round_trip_ns,
        "at_ns": best.sent_ns,
        "offset_interval_ns": _bounds(best),
    }


def _whole(samples: Sequence[ClockSample]) -> dict[str, Any]:
    """What all samples prove of a clock that runs steadily; a clock that was set contradicts itself."""
    try:
        bounds = offset_bounds(samples)
    except ContradictionError as error:
        return {"drift_ppm": None, "contradiction": str(error)}
    drift = bounds.drift_ppm
    return {"drift_ppm": [drift.low, drift.high], "contradiction": None}


def _bounds(sample: ClockSample) -> list[int]:
    # Of the sample's own integers: a float would keep 256 ns of a clock that counts from 1970.
    return [sample.remote_ns - sample.received_ns, sample.remote_ns - sample.sent_ns]


@dataclass(frozen=True)
class SpannedTime:
    """A duration across two hosts, with all that it may be."""

    value_ns: int
    interval_ns: tuple[int, int]


def across(
    earlier_ns: int, later_ns: int, *, from_offset_ns: tuple[int, int], to_offset_ns: tuple[int, int]
) -> SpannedTime:
    """From `earlier_ns` by one host's clock to `later_ns` by another's; offsets are against a third.

    Both intervals add up: nothing says that their errors cancel.
    """
    apparent_ns = later_ns - earlier_ns
    least = apparent_ns + from_offset_ns[0] - to_offset_ns[1]
    most = apparent_ns + from_offset_ns[1] - to_offset_ns[0]
    return SpannedTime((least + most) // 2, (least, most))


def discipline_document(discipline: Any) -> dict[str, Any]:
    """What keeps a host's clock, as it stands in clocks/<host>.json."""
    return {**asdict(discipline), "in_words": discipline.in_words}
