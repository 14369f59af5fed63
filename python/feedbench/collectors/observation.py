"""What a collector saw of one message, and what went wrong while it watched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Door = Literal["rest", "websocket", "fix"]
DOORS: tuple[Door, ...] = ("fix", "rest", "websocket")


@dataclass(frozen=True)
class Observation:
    """Times are of the local monotonic clock, but for `event_unix_ns`, which is of the exchange's.

    `sent_ns` is when the question left (REST, FIX), `received_ns` when the library handed over the answer,
    and `parsed_ns` when it was understood, None where the library parses before it hands over. `snapshot`
    marks what a subscription is answered with at once: it tells of an event of some time ago.
    """

    door: Door
    venue: str
    symbol: str
    sent_ns: int | None
    received_ns: int
    parsed_ns: int | None
    event_unix_ns: int | None
    payload_bytes: int
    snapshot: bool = False

    @property
    def round_trip_ns(self) -> int | None:
        return None if self.sent_ns is None else self.received_ns - self.sent_ns

    @property
    def parse_ns(self) -> int | None:
        return None if self.parsed_ns is None else self.parsed_ns - self.received_ns


@dataclass
class Tally:
    """What a collector met besides messages; counts only go up."""

    refused: int = 0  # 429 and its like
    failed: int = 0  # any other error, or no answer in time
    unreadable: int = 0
    reconnects: int = 0
    gaps: int = 0  # times that numbers were missing
    missed: int = 0  # how many numbers
    breaker_opened: int = 0
    waited_s: float = 0.0  # told to, or by back-off
    causes: dict[str, int] = field(default_factory=dict)

    def note(self, cause: str) -> None:
        """Counts a failure by its words."""
        self.causes[cause] = self.causes.get(cause, 0) + 1


@dataclass(frozen=True)
class Collected:
    """Everything of one collector's run."""

    door: Door
    observations: tuple[Observation, ...]
    tally: Tally
