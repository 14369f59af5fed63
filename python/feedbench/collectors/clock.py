"""The time that collectors live by. A test brings a clock of its own, and a minute takes no time."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """`now_ns` is monotonic, in nanoseconds, with any beginning."""

    def now_ns(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """CLOCK_MONOTONIC, which Python calls perf_counter_ns, as the paper does."""

    def now_ns(self) -> int:
        return time.perf_counter_ns()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
