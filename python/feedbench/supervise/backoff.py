"""When a client that died is started again."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_S, MOST_S = 0.5, 8.0  # the study looked every 10 s; so does an exchange's patience with reconnections
STEADY_S = 30.0  # who ran so long did not die of how it was started


@dataclass(frozen=True)
class Backoff:
    """`deaths` in a row of clients that did not run for long."""

    deaths: int = 0

    def after(self, ran_s: float) -> Backoff:
        """Another death, of a client that ran so long."""
        return Backoff(1 if ran_s >= STEADY_S else self.deaths + 1)

    @property
    def wait_s(self) -> float:
        """Doubled from death to death, up to 8 s: with the time to notice and to start, below 10 s."""
        return min(MOST_S, FIRST_S * 2 ** (self.deaths - 1)) if self.deaths else 0.0
