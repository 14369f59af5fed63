"""What the Python pollers share: arguments, the interval, the record, an orderly end (spec/feed.md, Pollers).

A poller brings one asynchronous context manager of its own library, which opens a client and gives a
coroutine that asks once: `await ask()` → `Answer`.
"""

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import NoReturn

import feed_client

ANSWER = 5
ANSWER_HEAD = struct.Struct("<QHxx")
USUAL_INTERVAL_NS = 20_000_000


@dataclass(frozen=True)
class Answer:
    """`retry_after` is the header's text, None without one."""

    status: int
    body: bytes
    retry_after: str | None


Ask = Callable[[], Awaitable[Answer]]


class Poll:
    """What the command line and the knobs ask for, and the record of what was answered."""

    def __init__(self, *, http: tuple[str, ...]) -> None:
        if len(sys.argv) != 5:
            feed_client.fail(f"usage: {sys.argv[0]} EXCHANGE DOMAIN PORT STREAM", feed_client.USAGE)
        _, domain, port, stream = sys.argv[1:]
        if not port.isdecimal() or not 0 < int(port) < 65536:
            feed_client.fail(f"the port {port} is not a number from 1 to 65535", feed_client.USAGE)
        address = domain if domain.startswith("http://") else f"https://{domain}"
        self.url = f"{address}:{port}{stream}"
        self.http2 = feed_client.knob("http", *http) == "2"
        self.interval_ns = _interval_ns()
        self.parse = feed_client.knob("parse", "off", "on") == "on"
        self.clock = feed_client.clock_after(feed_client.delay_ns())
        self.ending = feed_client.Ending()
        self.ssl_context = feed_client.trusting(self.url)
        self.has_answered = False
        self.sink = self._open_sink()

    def _open_sink(self) -> feed_client.Sink:
        if feed_client.knob("sink", "stamps", "none") == "none":
            return feed_client.Nowhere()
        path = os.environ.get("FEEDBENCH_OUTPUT")
        if not path:
            feed_client.fail("FEEDBENCH_OUTPUT is not set: the sink stamps wants a file", feed_client.USAGE)
        try:
            return feed_client.Stamps(path)
        except OSError as error:
            feed_client.fail(f"cannot write {path}: {error}")

    async def follow(self, ask: Ask) -> NoReturn:
        """Asks, records, waits until the next question is due."""
        self._add(time.monotonic_ns(), time.time_ns(), feed_client.CONNECTED, b"")
        while True:
            sent_ns = time.monotonic_ns()
            answer = await ask()
            received_ns, unix_ns = self.clock(), time.time_ns()
            self.has_answered = True
            head = ANSWER_HEAD.pack(sent_ns, answer.status)
            self._add(received_ns, unix_ns, ANSWER, head + answer.body)
            if self.parse:
                with suppress(ValueError):  # an exchange's mistake, recorded as it came
                    json.loads(answer.body)
            await asyncio.sleep(self._wait_s(sent_ns, answer))

    def _wait_s(self, sent_ns: int, answer: Answer) -> float:
        if answer.status != 200 and answer.retry_after is not None and answer.retry_after.isdecimal():
            return float(answer.retry_after)
        return max(0, sent_ns + self.interval_ns - time.monotonic_ns()) / 1e9

    def _add(self, received_ns: int, unix_ns: int, kind: int, payload: bytes | str) -> None:
        try:
            self.sink.add(received_ns, unix_ns, kind, payload)
            self.sink.flush()
        except OSError as error:
            feed_client.lose_sink(error)

    def end(self, reason: str) -> int:
        """Records how the polling ended; the exit status."""
        self._add(time.monotonic_ns(), time.time_ns(), feed_client.END, reason)
        if reason:
            print(reason, file=sys.stderr)
        return 1 if reason else 0


def _interval_ns() -> int:
    given = os.environ.get("FEEDBENCH_POLL_INTERVAL_NS", str(USUAL_INTERVAL_NS))
    if not given.isdecimal():
        feed_client.fail(
            f"FEEDBENCH_POLL_INTERVAL_NS={given} is not supported; a whole number", feed_client.UNSUPPORTED
        )
    return int(given)


async def _until_the_end(open_client: Callable[[Poll], AbstractAsyncContextManager[Ask]], poll: Poll) -> str:
    """Polls until asked to end, or until a question gets no answer; the reason, empty when asked."""

    async def following() -> None:
        async with open_client(poll) as ask:
            await poll.follow(ask)

    polling = asyncio.ensure_future(following())
    asked = asyncio.ensure_future(poll.ending.until_asked())
    await asyncio.wait({polling, asked}, return_when="FIRST_COMPLETED")
    for task in (polling, asked):
        task.cancel()
    try:
        await polling
    except asyncio.CancelledError:
        pass
    except Exception as error:  # a library's own kinds: no two have one in common
        told = str(error) or type(error).__name__
        return f"lost: {told}" if poll.has_answered else f"cannot connect to {poll.url}: {told}"
    return ""


def run(
    open_client: Callable[[Poll], AbstractAsyncContextManager[Ask]], *, http: tuple[str, ...]
) -> NoReturn:
    """Polls as the command line asks, to its end and the end of the program."""
    poll = Poll(http=http)
    sys.exit(poll.end(asyncio.run(_until_the_end(open_client, poll))))
