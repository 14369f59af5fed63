"""A sleep that the end of the run cuts short."""

from __future__ import annotations

import asyncio

from feedbench.collectors.clock import Clock


async def pause(clock: Clock, seconds: float, stop: asyncio.Event) -> None:
    """Until `seconds` are over or `stop` is set."""
    if seconds <= 0 or stop.is_set():
        return
    waits = {asyncio.ensure_future(clock.sleep(seconds)), asyncio.ensure_future(stop.wait())}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
