"""How far a ramp is, on stderr: a bar for the campaign, the round, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from feedbench.units import format_duration

BAR_CELLS = 24
PLAIN_EVERY_NS = 10_000_000_000


def share_done(round_number: int, rounds: int) -> float:
    """Of a repeat's work after this round: rounds grow evenly, so the work grows with their square."""
    return round_number * (round_number + 1) / (rounds * (rounds + 1))


def left_ns(*, elapsed_ns: int, done: float, whole: int) -> int | None:
    """What `whole` repeats still take when `done` of them (with a fraction) took `elapsed_ns`."""
    return round(elapsed_ns / done * (whole - done)) if done > 0 else None


class RampProgress:
    """Shown after each round; on a terminal one line that renews itself, elsewhere a line now and then."""

    def __init__(
        self, *, repeats: int, stream: TextIO | None = None, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._began_ns = clock()
        self._repeats = repeats
        self._played = 0
        self._shown_ns: int | None = None
        self._width = 0

    def show(self, target: str, round_number: int, rounds: int) -> None:
        """`round_number` of the present repeat has ended."""
        now_ns = self._clock()
        done = self._played + share_done(round_number, rounds)
        left = left_ns(elapsed_ns=now_ns - self._began_ns, done=done, whole=self._repeats)
        filled = round(BAR_CELLS * done / self._repeats)
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        text = f"{bar} ramp {self._played + 1}/{self._repeats} · {target} · round {round_number}/{rounds}"
        if left is not None:
            text += f" · {format_duration(left)} left"
        if self._stream.isatty():
            self._write(f"\r{text:<{self._width}}")
            self._width = len(text)
        elif self._shown_ns is None or now_ns - self._shown_ns >= PLAIN_EVERY_NS:
            self._write(text + "\n")
            self._shown_ns = now_ns

    def next_repeat(self, said: str) -> None:
        """The present repeat has ended; `said` is a line that stays."""
        self._played += 1
        self._write((("\r" + " " * self._width + "\r") if self._width else "") + said + "\n")
        self._width = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # whoever read our messages has gone; the measuring goes on
            return
