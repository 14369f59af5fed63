"""Polls an exchange's ticker: ask, wait for the answer, pause for the throttle, ask again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from feedbench.collectors.back_off import BackOff, BreakerPolicy, CircuitBreaker, retry_after_s
from feedbench.collectors.clock import Clock, SystemClock
from feedbench.collectors.observation import Collected, Observation, Tally
from feedbench.collectors.pause import pause
from feedbench.collectors.tls import trust
from feedbench.collectors.venue import UnreadableError, Venue

# 418 is Binance's "banned for not listening to 429"; both come with Retry-After.
REFUSALS = (429, 418)


@dataclass(frozen=True)
class RestOptions:
    """`throttle_s` is the pause between an answer and the next question, the paper's 20 ms.

    HTTP/2 is by ALPN with TLS, and by prior knowledge without.
    """

    throttle_s: float = 0.02
    keep_alive: bool = True
    http2: bool = False
    timeout_s: float = 5.0
    authority_file: Path | None = None
    back_off: BackOff = field(default_factory=BackOff)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)


@asynccontextmanager
async def http_client(options: RestOptions) -> AsyncIterator[httpx.AsyncClient]:
    """One connection, kept unless the options say otherwise; closed with the block, however it ends."""
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=int(options.keep_alive))
    async with httpx.AsyncClient(
        http1=not options.http2,
        http2=options.http2,
        limits=limits,
        timeout=options.timeout_s,
        verify=trust(options.authority_file),
        trust_env=False,  # a proxy between would be measured, too
        headers={"User-Agent": "feedbench"} | ({} if options.keep_alive else {"Connection": "close"}),
    ) as client:
        yield client


class RestPoller:
    """`run` polls until `stop` is set; what it saw is in `collected`, also after it was cancelled."""

    def __init__(
        self,
        venue: Venue,
        options: RestOptions | None = None,
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._venue = venue
        self._options = options or RestOptions()
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._breaker = CircuitBreaker(self._options.breaker)
        self._observations: list[Observation] = []
        self._tally = Tally()

    @property
    def collected(self) -> Collected:
        return Collected("rest", tuple(self._observations), self._tally)

    async def run(self, stop: asyncio.Event) -> None:
        async with http_client(self._options) as client:
            while not stop.is_set():
                await self._wait(self._breaker.wait_s(self._clock.now_ns()), stop)
                if stop.is_set():
                    return
                wait_s = await self._ask(client)
                if wait_s is None:
                    await pause(self._clock, self._options.throttle_s, stop)
                else:
                    await self._wait(wait_s, stop)

    async def _ask(self, client: httpx.AsyncClient) -> float | None:
        """One question; None after an answer, else how long to wait before the next."""
        sent_ns = self._clock.now_ns()
        try:
            response = await client.get(self._venue.rest_url + self._venue.ticker_path)
        except httpx.HTTPError as error:
            self._tally.failed += 1
            return self._failed(f"{type(error).__name__}: {error}".removesuffix(": "))
        received_ns = self._clock.now_ns()
        if response.status_code in REFUSALS:
            self._tally.refused += 1
            told_s = retry_after_s(response.headers.get("Retry-After"))
            # A refusal that names its time is the exchange at work: nothing for the breaker.
            return self._failed(f"status {response.status_code}") if told_s is None else told_s
        if response.status_code != 200:
            self._tally.failed += 1
            return self._failed(f"status {response.status_code}")
        return self._answered(sent_ns, received_ns, response.content)

    def _answered(self, sent_ns: int, received_ns: int, body: bytes) -> float | None:
        try:
            tick = self._venue.read_ticker(body)
        except UnreadableError as error:
            self._tally.unreadable += 1
            return self._failed(str(error))
        self._breaker.succeeded()
        self._observations.append(
            Observation(
                door="rest",
                venue=self._venue.provider,
                symbol=self._venue.symbol,
                sent_ns=sent_ns,
                received_ns=received_ns,
                parsed_ns=self._clock.now_ns(),
                event_unix_ns=tick.event_unix_ns,
                payload_bytes=len(body),
            )
        )
        return None

    def _failed(self, cause: str) -> float:
        self._tally.note(cause)
        self._breaker.failed(self._clock.now_ns())
        self._tally.breaker_opened = self._breaker.times_opened
        return self._options.back_off.wait_s(self._breaker.failures, self._chance)

    async def _wait(self, seconds: float, stop: asyncio.Event) -> None:
        self._tally.waited_s += seconds
        await pause(self._clock, seconds, stop)
