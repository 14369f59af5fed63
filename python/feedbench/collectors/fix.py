"""Asks a FIX 4.2 acceptor for a snapshot, waits for it, pauses for the throttle, asks again."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from feedbench.collectors.back_off import BackOff
from feedbench.collectors.clock import Clock, SystemClock
from feedbench.collectors.fix_echo import COLLECTOR, ECHO, HOST, PORT
from feedbench.collectors.fix_session import (
    LOGON,
    LOGOUT,
    MARKET_DATA_REQUEST,
    SNAPSHOT,
    FixSession,
    Received,
    SessionError,
)
from feedbench.collectors.observation import Collected, Observation, Tally
from feedbench.collectors.pause import pause


@dataclass(frozen=True)
class FixOptions:
    """`throttle_s` is the pause between a snapshot and the next request, the paper's 5 ms."""

    host: str = HOST
    port: int = PORT
    symbol: str = "BTC-USD"
    throttle_s: float = 0.005
    timeout_s: float = 5.0
    back_off: BackOff = field(default_factory=BackOff)


@dataclass
class _Link:
    """One connection with its session."""

    session: FixSession
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def await_kind(self, kind: str, *, request: str | None = None) -> Received:
        """The next message of a kind, if need be of one request; what comes before it is passed over."""
        while data := await self.reader.read(65_536):
            messages, answers = self.session.receive(data)
            if answers:
                self.writer.write(answers)
            for message in messages:
                if message.kind == kind and (request is None or message.text(262) == request):
                    return message
                if message.kind == LOGOUT:
                    raise SessionError("the acceptor logged out")
        raise ConnectionResetError("the acceptor closed the connection")


class FixRequester:
    """`run` asks until `stop` is set, then logs out; what it saw is in `collected`, also when cancelled."""

    def __init__(
        self,
        options: FixOptions | None = None,
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._options = options or FixOptions()
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._observations: list[Observation] = []
        self._tally = Tally()
        self._requests = 0

    @property
    def collected(self) -> Collected:
        return Collected("fix", tuple(self._observations), self._tally)

    async def run(self, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            seen = len(self._observations)
            try:
                await self._session(stop)
                return
            except (OSError, SessionError) as error:
                # TimeoutError is an OSError: the acceptor did not answer in time.
                self._tally.note(f"{type(error).__name__}: {error}".removesuffix(": "))
            failures = 1 if len(self._observations) > seen else failures + 1
            self._tally.failed += 1
            self._tally.reconnects += 1
            wait_s = self._options.back_off.wait_s(failures, self._chance)
            self._tally.waited_s += wait_s
            await pause(self._clock, wait_s, stop)

    async def _session(self, stop: asyncio.Event) -> None:
        """One connection, from logon to logout."""
        options = self._options
        async with asyncio.timeout(options.timeout_s):
            reader, writer = await asyncio.open_connection(options.host, options.port)
        link = _Link(FixSession(COLLECTOR, ECHO), reader, writer)
        try:
            writer.write(link.session.logon())
            async with asyncio.timeout(options.timeout_s):
                await link.await_kind(LOGON)
            while not stop.is_set():
                await self._ask(link)
                await pause(self._clock, options.throttle_s, stop)
            writer.write(link.session.logout())
            async with asyncio.timeout(options.timeout_s):
                await link.await_kind(LOGOUT)
        finally:
            self._tally.gaps += link.session.gaps
            self._tally.missed += link.session.missed
            writer.close()

    async def _ask(self, link: _Link) -> None:
        self._requests += 1
        number = str(self._requests)
        request = link.session.message(
            MARKET_DATA_REQUEST,
            [(262, number), (263, "0"), (264, "1"), (267, "2"), (269, "0"), (269, "1"), (146, "1"),
             (55, self._options.symbol)],
        )  # fmt: skip
        sent_ns = self._clock.now_ns()
        link.writer.write(request)
        async with asyncio.timeout(self._options.timeout_s):
            answer = await link.await_kind(SNAPSHOT, request=number)
        received_ns = self._clock.now_ns()
        self._observations.append(
            Observation(
                door="fix",
                venue="local",
                symbol=self._options.symbol,
                sent_ns=sent_ns,
                received_ns=received_ns,
                parsed_ns=None,
                event_unix_ns=None,
                payload_bytes=len(answer.fields.encode(raw=True)),
            )
        )
