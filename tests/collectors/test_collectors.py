"""REST and WebSocket collectors against real sockets: the simulated exchange, and a server that is told what
to say.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import psutil
import pytest
from simulated_exchange import StartExchange

from feedbench.clock_offset.estimate import estimate_offset
from feedbench.collectors.back_off import BreakerPolicy
from feedbench.collectors.offset import sample_clock
from feedbench.collectors.rest import RestOptions, RestPoller
from feedbench.collectors.venue import Venue, venue
from feedbench.collectors.websocket import WebSocketOptions, WebSocketSubscriber
from feedbench.errors import FeedbenchError

pytestmark = pytest.mark.anyio

TICKER = b'{"trade_id":1,"price":"1","time":"2026-11-21T22:44:06.080213Z"}'


@dataclass
class ManualClock:
    """Every sleep is over at once, and is remembered; the run ends with the last that is allowed."""

    stop: asyncio.Event
    sleeps: int
    slept: list[float] = field(default_factory=list)
    shown_ns: int = 0

    def now_ns(self) -> int:
        return self.shown_ns

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.shown_ns += round(seconds * 1e9)
        if len(self.slept) == self.sleeps:
            self.stop.set()


@dataclass
class ScriptedServer:
    """Gives one answer after the other, the last one for ever; counts connections."""

    answers: Sequence[bytes]
    connections: int = 0
    requests: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                answer = self.answers[min(self.requests, len(self.answers) - 1)]
                self.requests += 1
                if not answer:
                    break
                writer.write(answer)
                await writer.drain()
                if b"connection: close" in head.lower():
                    break
        writer.close()


def answer(status: int, body: bytes = b"{}", *, headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d x\r\n%scontent-length: %d\r\n\r\n%s" % (status, headers, len(body), body)


@asynccontextmanager
async def scripted(*answers: bytes) -> AsyncIterator[tuple[ScriptedServer, Venue]]:
    script = ScriptedServer(answers)
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield (
            script,
            venue("coinbase").at(rest_url=f"http://127.0.0.1:{port}", websocket_url=f"ws://127.0.0.1:{port}"),
        )


async def poll(
    venue: Venue, sleeps: int, options: RestOptions | None = None
) -> tuple[RestPoller, ManualClock]:
    stop = asyncio.Event()
    clock = ManualClock(stop, sleeps)
    poller = RestPoller(venue, options, clock=clock, chance=random.Random(1))
    await poller.run(stop)
    return poller, clock


async def test_the_throttle_is_kept_and_the_connection_too() -> None:
    async with scripted(answer(200, TICKER)) as (server, venue):
        poller, clock = await poll(venue, 20)
        assert clock.slept == [0.02] * 20
        assert (len(poller.collected.observations), server.connections) == (20, 1)
        _, _ = await poll(venue, 20, RestOptions(keep_alive=False))
        assert server.connections == 1 + 20


async def test_retry_after_is_waited_for_to_the_second() -> None:
    told = answer(429, headers=b"Retry-After: 7\r\n")
    async with scripted(answer(200, TICKER), told, answer(200, TICKER)) as (_, venue):
        poller, clock = await poll(venue, 3)
        assert clock.slept == [0.02, 7.0, 0.02]
        tally = poller.collected.tally
        assert (tally.refused, tally.failed, tally.waited_s, tally.breaker_opened) == (1, 0, 7.0, 0)


async def test_a_refusal_without_a_time_is_backed_off_from() -> None:
    async with scripted(answer(429)) as (_, venue):
        poller, clock = await poll(venue, 4)
        assert [0.05 <= clock.slept[0] <= 0.1, 0.4 <= clock.slept[3] <= 0.8] == [True, True]
        assert poller.collected.tally.refused == 4


async def test_the_breaker_leaves_a_broken_exchange_alone() -> None:
    options = RestOptions(breaker=BreakerPolicy(failures=3, rest_s=60))
    async with scripted(*[answer(503)] * 3, answer(200, TICKER)) as (server, venue):
        poller, clock = await poll(venue, 5, options)
        # Two back-offs, a third one, what is left of the breaker's minute, and then a throttle.
        assert clock.slept[2] + clock.slept[3] == pytest.approx(60)
        assert clock.slept[4] == 0.02
        assert server.requests == 4
        assert poller.collected.tally.breaker_opened == 1
        assert poller.collected.tally.causes == {"status 503": 3}


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        (b"", "RemoteProtocolError"),
        (answer(200, b"<html>"), "JSONDecodeError"),
        (answer(200, b"{}"), "KeyError"),
    ],
)
async def test_what_is_no_answer_is_counted_with_its_cause(broken: bytes, cause: str) -> None:
    async with scripted(broken, answer(200, TICKER)) as (_, venue):
        poller, _ = await poll(venue, 3)
        assert len(poller.collected.observations) == 2
        assert any(cause in told for told in poller.collected.tally.causes)


@pytest.mark.parametrize("name", ["coinbase", "coinbase-advanced", "binance"])
@pytest.mark.parametrize("http2", [False, True])
async def test_tickers_of_the_simulated_exchange(
    start_exchange: StartExchange, name: str, http2: bool
) -> None:
    exchange = start_exchange("--personality", name, "--rate", "3000")
    stop = asyncio.Event()
    authority = exchange.authority_file
    poller = RestPoller(
        exchange.venue(name, tls=True),
        RestOptions(http2=http2, authority_file=authority),
        clock=ManualClock(stop, 10),
    )
    subscriber = WebSocketSubscriber(
        exchange.venue(name, tls=True), WebSocketOptions(authority_file=authority)
    )
    listening = asyncio.ensure_future(subscriber.run(stop))
    await until(lambda: len(subscriber.collected.observations) >= 20)
    await poller.run(stop)
    await asyncio.wait_for(listening, 30)
    rest, feed = poller.collected, subscriber.collected
    assert len(rest.observations) + rest.tally.refused == 10, rest.tally
    assert all(each.round_trip_ns is not None for each in rest.observations)
    assert (feed.tally.gaps, feed.tally.failed, feed.tally.unreadable) == (0, 0, 0), feed.tally
    # A snapshot is of when it was asked for; a market that was late then tells of what came before it.
    assert sum(each.snapshot for each in feed.observations) == (name != "binance")
    times = [each.event_unix_ns for each in feed.observations if not each.snapshot]
    assert times == sorted(times, key=lambda time: time or 0)
    assert feed.observations[0].snapshot is (name != "binance")


async def test_gaps_are_counted_as_they_were_made(start_exchange: StartExchange) -> None:
    faults = ("--fault", "gap:at=40+41+60", "--wait-for", "1")
    exchange = start_exchange("--personality", "binance", "--rate", "3000", *faults)
    stop = asyncio.Event()
    subscriber = WebSocketSubscriber(exchange.venue("binance"))
    listening = asyncio.ensure_future(subscriber.run(stop))
    await until(lambda: len(subscriber.collected.observations) >= 100)
    stop.set()
    await asyncio.wait_for(listening, 30)
    assert (subscriber.collected.tally.gaps, subscriber.collected.tally.missed) == (2, 3)


async def test_a_lost_connection_is_made_again(start_exchange: StartExchange) -> None:
    faults = ("--fault", "disconnect:after=200ms", "--fault", "malformed-json:every=50")
    exchange = start_exchange("--personality", "coinbase", "--rate", "3000", *faults)
    stop = asyncio.Event()
    subscriber = WebSocketSubscriber(exchange.venue("coinbase"))
    listening = asyncio.ensure_future(subscriber.run(stop))
    await until(lambda: subscriber.collected.tally.reconnects >= 3)
    stop.set()
    await asyncio.wait_for(listening, 30)
    tally = subscriber.collected.tally
    assert tally.unreadable > 0
    # Trades of the time without a connection are missing, and that is seen over the reconnect.
    assert tally.missed > 0
    # The first ticker of each connection is an old one.
    assert sum(each.snapshot for each in subscriber.collected.observations) >= 3


async def test_a_storm_of_refusals_is_lived_through(start_exchange: StartExchange) -> None:
    exchange = start_exchange("--personality", "coinbase", "--fault", "refusals:every=2s,for=1s")
    stop = asyncio.Event()
    poller = RestPoller(exchange.venue("coinbase"), RestOptions(throttle_s=0.15))
    polling = asyncio.ensure_future(poller.run(stop))
    await until(lambda: poller.collected.tally.refused >= 2 and len(poller.collected.observations) >= 5)
    stop.set()
    await asyncio.wait_for(polling, 30)
    # It was told to wait and waited, so a storm of a second costs a refusal or two.
    assert poller.collected.tally.refused <= 1 + 2 * len(poller.collected.observations)
    assert poller.collected.tally.waited_s >= 2


async def test_cancelling_leaves_no_connection(start_exchange: StartExchange) -> None:
    exchange = start_exchange("--personality", "coinbase", "--rate", "3000")
    place = exchange.venue("coinbase")
    port = int(place.rest_url.rsplit(":", 1)[1])
    never = asyncio.Event()
    poller, subscriber = RestPoller(place), WebSocketSubscriber(place)
    tasks = [asyncio.ensure_future(each.run(never)) for each in (poller, subscriber)]
    await until(lambda: bool(poller.collected.observations and subscriber.collected.observations))
    assert connections_to(port) == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert connections_to(port) == 0
    assert poller.collected.observations
    assert [task.cancelled() for task in tasks] == [True, True]


async def test_an_injected_skew_and_drift_of_the_exchange_are_found(start_exchange: StartExchange) -> None:
    opened_unix_s = 1_700_000_000
    exchange = start_exchange(
        *("--personality", "coinbase", "--opened-unix", str(opened_unix_s)),
        *("--fault", "clock:skew=-1.272s,drift=1.4ms/5m"),
    )
    samples = await sample_clock(exchange.venue("coinbase"), 10, every_s=0.12)
    estimate = estimate_offset(samples)
    opened_ns = exchange.stop()["totals"]["opened_ns"]
    for sample in samples:
        since_ns = sample.received_ns - opened_ns
        truth = opened_unix_s * 10**9 - 1_272_000_000 - opened_ns + since_ns * 1.4e6 / 300e9
        within = estimate.interval_ns(sample.received_ns)
        assert within is not None
        assert within.holds(truth), (within.low - truth, within.high - truth)
        # A skew that is a round trip further off would be noticed.
        assert not within.holds(truth + sample.round_trip_ns + 10_000)


async def test_an_answer_that_is_no_time_is_an_error() -> None:
    async with scripted(answer(200, b'{"iso":"noon"}')) as (_, place):
        with pytest.raises(FeedbenchError, match="no time"):
            await sample_clock(place, 2, every_s=0)
    unreachable = replace(place, rest_url="http://127.0.0.1:1")
    assert await sample_clock(unreachable, 2, every_s=0) == []


async def until(true: Callable[[], bool]) -> None:
    """Waits for it; a minute is for a machine that is very slow."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def connections_to(port: int) -> int:
    """Established ones of this process."""
    return sum(
        each.raddr and each.raddr.port == port and each.status == psutil.CONN_ESTABLISHED
        for each in psutil.Process().net_connections("tcp")
    )
