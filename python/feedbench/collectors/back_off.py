"""How long to wait after a failure, and when to leave an exchange alone: values without a clock of their
own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# An exchange may send its clients away for minutes (Binance: up to 120); more than an hour is a mistake.
LONGEST_RETRY_AFTER_S = 3_600.0


@dataclass(frozen=True)
class BackOff:
    """Doubles from `first_s` to `longest_s`; of that, a random part is taken, so that clients come apart.

    "Full jitter": anything from nothing to the whole would at times not wait at all, so at least half is
    waited.
    """

    first_s: float = 0.1
    longest_s: float = 10.0

    def wait_s(self, failures: int, chance: random.Random) -> float:
        """After `failures` in a row, counted from 1."""
        # Capped before it is raised: 2 to the power of a day's failures is no float.
        whole = min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 62))
        return whole * (0.5 + 0.5 * chance.random())


@dataclass(frozen=True)
class BreakerPolicy:
    """Opens after `failures` in a row, and lets one request try again after `rest_s`."""

    failures: int = 5
    rest_s: float = 5.0


class CircuitBreaker:
    """Closed: requests pass. Open: none do. Half open: one does, and decides."""

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self._failures = 0
        self._opened_ns: int | None = None
        self.times_opened = 0

    @property
    def failures(self) -> int:
        """In a row, up to now."""
        return self._failures

    def wait_s(self, now_ns: int) -> float:
        """0 when a request may pass, else how long until one may try."""
        if self._opened_ns is None:
            return 0.0
        return max(0.0, self._policy.rest_s - (now_ns - self._opened_ns) / 1e9)

    def succeeded(self) -> None:
        self._failures, self._opened_ns = 0, None

    def failed(self, now_ns: int) -> None:
        """Also the failure of a half-open breaker's one request, which opens it again."""
        self._failures += 1
        if self._failures >= self._policy.failures:
            self._opened_ns = now_ns
            self.times_opened += 1


def retry_after_s(header: str | None, now: datetime | None = None) -> float | None:
    """`Retry-After` as seconds (RFC 9110 10.2.3: a number or a date); None when absent or neither."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_RETRY_AFTER_S)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    seconds = (until - (now or datetime.now(UTC))).total_seconds()
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER_S)
