"""Subscribes to an exchange's ticker by message, counts gaps, and connects again when it is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from feedbench.collectors.back_off import BackOff
from feedbench.collectors.clock import Clock, SystemClock
from feedbench.collectors.observation import Collected, Observation, Tally
from feedbench.collectors.pause import pause
from feedbench.collectors.tls import trust
from feedbench.collectors.venue import Tick, UnreadableError, Venue


@dataclass(frozen=True)
class WebSocketOptions:
    """`silence_s` is how long a connection may say nothing, not even answer a ping, before it is given up."""

    open_timeout_s: float = 10.0
    silence_s: float = 20.0
    authority_file: Path | None = None
    back_off: BackOff = field(default_factory=BackOff)


class WebSocketSubscriber:
    """`run` listens until `stop` is set; what it saw is in `collected`, also after it was cancelled."""

    def __init__(
        self,
        venue: Venue,
        options: WebSocketOptions | None = None,
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._venue = venue
        self._options = options or WebSocketOptions()
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._observations: list[Observation] = []
        self._tally = Tally()
        self._number: int | None = None

    @property
    def collected(self) -> Collected:
        return Collected("websocket", tuple(self._observations), self._tally)

    async def run(self, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            seen = len(self._observations)
            try:
                await self._listen(stop)
            except (OSError, WebSocketException) as error:
                # TimeoutError is an OSError: the handshake took too long.
                self._tally.note(f"{type(error).__name__}: {error}".removesuffix(": "))
            if stop.is_set():
                return
            # A connection that brought something ends the row of failures.
            failures = 1 if len(self._observations) > seen else failures + 1
            self._tally.failed += 1
            self._tally.reconnects += 1
            wait_s = self._options.back_off.wait_s(failures, self._chance)
            self._tally.waited_s += wait_s
            await pause(self._clock, wait_s, stop)

    async def _listen(self, stop: asyncio.Event) -> None:
        """One connection, from its handshake to its end."""
        if self._venue.numbers_connections:
            self._number = None
        greeting_awaited = self._venue.greets
        async with self._connection(stop) as connection:
            await connection.send(self._venue.subscription)
            while True:
                message = await connection.recv()
                received_ns = self._clock.now_ns()
                tick = self._read(message)
                if tick is None or tick.event_unix_ns is None:
                    continue
                size = len(message.encode()) if isinstance(message, str) else len(message)
                self._observe(tick, received_ns, size, snapshot=tick.snapshot or greeting_awaited)
                greeting_awaited = False

    @asynccontextmanager
    async def _connection(self, stop: asyncio.Event) -> AsyncIterator[ClientConnection]:
        """Open until the block ends or `stop` is set; then closed with a close frame."""
        secure = self._venue.websocket_url.startswith("wss:")
        async with connect(
            self._venue.websocket_url,
            ssl=trust(self._options.authority_file) if secure else None,
            open_timeout=self._options.open_timeout_s,
            ping_interval=self._options.silence_s / 2,
            ping_timeout=self._options.silence_s / 2,
            close_timeout=1,
            max_size=None,
            proxy=None,
        ) as connection:
            closing = asyncio.ensure_future(_close_when(stop, connection))
            try:
                yield connection
            except ConnectionClosed:
                if not stop.is_set():
                    raise
            finally:
                closing.cancel()
                with suppress(asyncio.CancelledError):
                    await closing

    def _read(self, message: str | bytes) -> Tick | None:
        try:
            tick = self._venue.read_message(message)
        except UnreadableError as error:
            self._tally.unreadable += 1
            self._tally.note(f"unreadable: {error}")
            return None
        if tick is not None and tick.number is not None:
            self._follow(tick.number)
        return tick

    def _follow(self, number: int) -> None:
        """Counts what is missing before `number`. A number again, as a greeting may have, is nothing new."""
        if self._number is not None and number > self._number + 1:
            self._tally.gaps += 1
            self._tally.missed += number - self._number - 1
        self._number = number if self._number is None else max(self._number, number)

    def _observe(self, tick: Tick, received_ns: int, payload_bytes: int, *, snapshot: bool) -> None:
        self._observations.append(
            Observation(
                door="websocket",
                venue=self._venue.provider,
                symbol=self._venue.symbol,
                sent_ns=None,
                received_ns=received_ns,
                parsed_ns=self._clock.now_ns(),
                event_unix_ns=tick.event_unix_ns,
                payload_bytes=payload_bytes,
                snapshot=snapshot,
            )
        )


async def _close_when(stop: asyncio.Event, connection: ClientConnection) -> None:
    await stop.wait()
    await connection.close()
