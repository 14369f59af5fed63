"""All doors at once, as the study's composite run has them: one event loop, one duration, one clock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from feedbench.clock_offset.estimate import PAPER_SAMPLES
from feedbench.clock_offset.sample import ClockSample
from feedbench.collectors.clock import Clock, SystemClock
from feedbench.collectors.observation import Collected
from feedbench.collectors.offset import sample_clock
from feedbench.collectors.pause import pause
from feedbench.collectors.rest import RestOptions
from feedbench.collectors.venue import Venue

# What a collector may take to end by itself once it is told to: its longest wait for an answer, and a bit.
GRACE_S = 6.0
# Between the questions for the time: Coinbase allows ten requests a second, and collectors want them, too.
BEFORE_EVERY_S = 0.15
DURING_EVERY_S = 5.0
LIMIT_WINDOW_S = 1.0  # until the limit that the poller used up has room again


class Collector(Protocol):
    """What `rest`, `websocket` and `fix` have in common."""

    @property
    def collected(self) -> Collected: ...

    async def run(self, stop: asyncio.Event) -> None: ...


@dataclass(frozen=True)
class ClockQuestions:
    """Whom to ask for the time before, during and after a run; five times before, as in the paper."""

    venue: Venue
    options: RestOptions
    during_every_s: float = DURING_EVERY_S


async def collect(
    collectors: Sequence[Collector],
    duration_s: float,
    *,
    questions: ClockQuestions | None = None,
    clock: Clock | None = None,
    stop: asyncio.Event | None = None,
) -> list[ClockSample]:
    """Runs them all for `duration_s`, or until `stop` is set; the samples of the exchange's clock.

    What each collector saw stays with it. A collector that does not end within the grace is cancelled; one
    that fails takes the others down with it, and its error is raised.
    """
    clock, stop = clock or SystemClock(), stop or asyncio.Event()
    samples = await _ask(questions, PAPER_SAMPLES, BEFORE_EVERY_S, clock, stop)
    running = [asyncio.ensure_future(collector.run(stop)) for collector in collectors]
    asking = asyncio.ensure_future(_ask_until(questions, samples, clock, stop))
    timer = asyncio.ensure_future(pause(clock, duration_s, stop))
    try:
        await asyncio.wait([timer, *running], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await asyncio.wait([*running, asking], timeout=GRACE_S)
    finally:
        stop.set()
        await _cancelled([timer, asking, *running])
    for task in (*running, asking):
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    never = asyncio.Event()
    await pause(clock, LIMIT_WINDOW_S if questions else 0, never)
    samples += await _ask(questions, PAPER_SAMPLES, BEFORE_EVERY_S, clock, never)
    return samples


async def _ask(
    questions: ClockQuestions | None, count: int, every_s: float, clock: Clock, stop: asyncio.Event
) -> list[ClockSample]:
    if questions is None:
        return []
    return await sample_clock(
        questions.venue, count, every_s=every_s, options=questions.options, clock=clock, stop=stop
    )


async def _ask_until(
    questions: ClockQuestions | None, samples: list[ClockSample], clock: Clock, stop: asyncio.Event
) -> None:
    """One question every few seconds, while the collectors run: it is how drift is seen."""
    while questions is not None and not stop.is_set():
        await pause(clock, questions.during_every_s, stop)
        if not stop.is_set():
            samples += await _ask(questions, 1, BEFORE_EVERY_S, clock, stop)


async def _cancelled(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task
