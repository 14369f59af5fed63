"""How far the run is, on stderr: one line that renews itself on a terminal, now and then a plain line
elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from feedbench.units import format_duration

PLAIN_EVERY_NS = 5_000_000_000


class Progress:
    """Shows what it is told; it has no thread, the waiting loop calls `show` once a second.

    On a terminal a line is renewed with a carriage return; a log gets at most one line every five seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._shown_ns: int | None = None
        self._width = 0

    def show(self, *, block: int, blocks: int, doing: str, left_ns: int) -> None:
        """`block` counts from 1."""
        now_ns = self._clock()
        text = f"block {block}/{blocks} · {doing} · {format_duration(max(0, left_ns))} left"
        if self._terminal:
            self._write(f"\r{text:<{self._width}}")
            self._width = len(text)
        elif self._shown_ns is None or now_ns - self._shown_ns >= PLAIN_EVERY_NS:
            self._write(text + "\n")
            self._shown_ns = now_ns

    def note(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        self._write(text + "\n")

    def clear(self) -> None:
        """Takes the renewed line away."""
        if self._terminal and self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # whoever read our messages has gone; the measuring goes on
            return
