"""What the Python feed clients share: arguments, knobs, sinks, an orderly end (spec/feed.md).

A client brings one coroutine of its own library, which connects, says `Feed.connected`, hands each message to
`Feed.record` and comes back with how the connection ended:

    received_ns, unix_ns = clock(), time_ns()   # before anything else
    feed.record(received_ns, unix_ns, message)
"""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import ssl
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NoReturn, Protocol

import binary_messages

MAGIC = b"FBSTAMPS" + struct.pack("<II", 1, 0)
RECORD_HEAD = struct.Struct("<QQIB3x")
TEXT, BINARY, CONNECTED, END = 1, 2, 3, 4
EXIT_FILE_POLL_S = 0.25
END_DEADLINE_S = 1.5  # an exchange that doesn't answer our close frame must not hold us up
USAGE, UNSUPPORTED = 2, 127

SCHEMA = """
PRAGMA synchronous=OFF;
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS test_details (
    test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT, exchange_id TEXT, stream_id TEXT,
    stream_args TEXT, datetime_start INTEGER);
CREATE TABLE IF NOT EXISTS events (
    event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT, received_ns INTEGER);
"""
INSERT = "INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)"

Message = str | bytes


def fail(line: str, status: int = 1) -> NoReturn:
    print(line, file=sys.stderr)
    sys.exit(status)


def knob(name: str, *allowed: str) -> str:
    """The knob's value, the first of those that are allowed if it is not set."""
    variable = f"FEEDBENCH_{name.upper()}"
    value = os.environ.get(variable, allowed[0])
    if value not in allowed:
        fail(f"{variable}={value} is not supported; {' or '.join(allowed)}", UNSUPPORTED)
    return value


DECODERS: dict[str, Callable[[Any], object]] = {
    "json": json.loads,
    "sbe": binary_messages.sbe,
    "itch": binary_messages.itch,
}


class Sink(Protocol):
    """Where messages go; `flush` is called before the client waits for the next one."""

    def add(self, received_ns: int, unix_ns: int, kind: int, payload: Message) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class Nowhere:
    def add(self, received_ns: int, unix_ns: int, kind: int, payload: Message) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class Stamps:
    """A file of stamps. What was handed over together is one write; it is with the kernel after `flush`."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.waiting = bytearray(b"" if os.fstat(self.file).st_size else MAGIC)
        self.flush()

    def add(self, received_ns: int, unix_ns: int, kind: int, payload: Message) -> None:
        content = payload.encode() if isinstance(payload, str) else payload
        self.waiting += RECORD_HEAD.pack(received_ns, unix_ns // 1_000_000, len(content), kind)
        self.waiting += content

    def flush(self) -> None:
        while self.waiting:
            del self.waiting[: os.write(self.file, self.waiting)]

    def close(self) -> None:
        self.flush()
        os.close(self.file)


class Sqlite:
    """The study's tables; each message is inserted, in autocommit, before the next is received."""

    def __init__(self, path: str, details: tuple[str, ...]) -> None:
        # One thread at a time uses it: the one that makes it, or, behind, the one that inserts.
        self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.database.executescript(SCHEMA)
        self.database.execute(
            "INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args,"
            " datetime_start) VALUES (?, ?, ?, ?, ?, ?)",
            (*details, time.time_ns() // 1_000_000),
        )

    def add(self, received_ns: int, unix_ns: int, kind: int, payload: Message) -> None:
        if kind in (TEXT, BINARY):
            self.database.execute(INSERT, (unix_ns // 1_000_000, payload, received_ns))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.database.close()


class SqliteBehind:
    """The same tables, filled by a thread of their own."""

    def __init__(self, path: str, details: tuple[str, ...]) -> None:
        self.inner = Sqlite(path, details)
        self.queue: SimpleQueue[tuple[int, int, int, Message] | None] = SimpleQueue()  # None: no more comes
        self.error: sqlite3.Error | None = None
        self.thread = Thread(target=self._insert, daemon=True)
        self.thread.start()

    def _insert(self) -> None:
        try:
            while (message := self.queue.get()) is not None:
                self.inner.add(*message)
        except sqlite3.Error as error:
            self.error = error

    def add(self, received_ns: int, unix_ns: int, kind: int, payload: Message) -> None:
        self.queue.put((received_ns, unix_ns, kind, payload))

    def flush(self) -> None:
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        self.queue.put(None)
        self.thread.join()
        self.inner.close()
        self.flush()


class Feed:
    """What the command line and the knobs ask for, and the record of what came.

    `clock` is read first for each message: CLOCK_MONOTONIC in ns, after a spin of FEEDBENCH_DELAY_NS if that
    is set. `stamp` is "before" for the mistake of reading it before the receive call. `scheme` begins the
    domains that are called without TLS.
    """

    def __init__(self, name: str, *, stamps: tuple[str, ...], scheme: str = "ws") -> None:
        if len(sys.argv) != 5:
            fail(f"usage: {sys.argv[0]} EXCHANGE DOMAIN PORT STREAM", USAGE)
        self.exchange, domain, port, self.stream = sys.argv[1:]
        if not port.isdecimal() or not 0 < int(port) < 65536:
            fail(f"the port {port} is not a number from 1 to 65535", USAGE)
        address = domain if domain.startswith(f"{scheme}://") else f"{scheme}s://{domain}"
        self.host, self.port = domain.removeprefix(f"{scheme}://"), int(port)
        self.url = f"{address}:{port}{self.stream}"
        self.name = name
        self.subscriptions = os.environ.get("FEEDBENCH_SUBSCRIBE", "").splitlines()
        self.deflate = knob("deflate", "default", "on", "off")
        self.stamp = knob("stamp", *stamps)
        self.parse = knob("parse", "off", "on") == "on"
        self.decode = DECODERS[knob("decoder", *DECODERS)]
        self.log_messages = knob("log_messages", "false", "true") == "true"
        self.event_loop = knob("event_loop", "asyncio", "uvloop")
        self.clock = clock_after(delay_ns())
        self.ending = Ending()
        self.is_connected = False
        self.flush_is_due = False
        # How what was handed over together is written together; without an event loop all is written at once.
        self.call_soon: Callable[[Callable[[], None]], object] = lambda flush: flush()
        self.ssl_context = trusting(self.url)
        self.sink = self._open_sink()

    def _open_sink(self) -> Sink:
        sink = knob("sink", "stamps", "sqlite", "sqlite_behind", "none")
        if sink == "none":
            return Nowhere()
        path = os.environ.get("FEEDBENCH_OUTPUT")
        if not path:
            fail(f"FEEDBENCH_OUTPUT is not set: the sink {sink} wants a file", USAGE)
        details = (socket.gethostname(), self.name, self.exchange, self.stream, "\n".join(self.subscriptions))
        try:
            match sink:
                case "sqlite":
                    return Sqlite(path, details)
                case "sqlite_behind":
                    return SqliteBehind(path, details)
                case _:
                    return Stamps(path)
        except (OSError, sqlite3.Error) as error:
            fail(f"cannot write {path}: {error}")

    def connected(self) -> None:
        """The handshake is done."""
        self.is_connected = True
        self.sink.add(time.monotonic_ns(), time.time_ns(), CONNECTED, b"")
        self.sink.flush()

    def record(self, received_ns: int, unix_ns: int, message: Message) -> None:
        """Takes one message; it is written when nothing else is ready to be received."""
        try:
            self.sink.add(received_ns, unix_ns, TEXT if isinstance(message, str) else BINARY, message)
        except sqlite3.Error as error:
            lose_sink(error)
        if not self.flush_is_due:
            self.flush_is_due = True
            self.call_soon(self.flush)
        if self.parse:
            self._decode(message)
        if self.log_messages:
            print(message)

    def flush(self) -> None:
        self.flush_is_due = False
        try:
            self.sink.flush()
        except (OSError, sqlite3.Error) as error:
            lose_sink(error)

    def _decode(self, message: Message) -> None:
        # An exchange's mistake is recorded as it came; what it answers in its binary doors is text.
        with suppress(ValueError, struct.error, TypeError):
            self.decode(message)

    def end(self, reason: str) -> int:
        """Records how the connection ended; the exit status."""
        if self.ending.is_asked:
            reason = ""
        try:
            if self.is_connected:
                self.sink.add(time.monotonic_ns(), time.time_ns(), END, reason)
            self.sink.close()
        except (OSError, sqlite3.Error) as error:
            lose_sink(error)
        if reason:
            print(reason, file=sys.stderr)
        return 1 if reason else 0


class Ending:
    """SIGTERM, SIGINT and the exit file."""

    def __init__(self) -> None:
        self.exit_file = os.environ.get("FEEDBENCH_EXIT_FILE")
        self.is_asked = False

    async def until_asked(self) -> None:
        """Comes back on a signal or when the exit file appears."""
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        while not stopped.is_set() and not (self.exit_file and Path(self.exit_file).exists()):
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), EXIT_FILE_POLL_S if self.exit_file else None)
        self.is_asked = True


def trusting(url: str) -> ssl.SSLContext | None:
    """None without TLS; else trusts FEEDBENCH_CA_FILE, or the system's authorities."""
    if url.startswith(("ws://", "http://", "fix://")):
        return None
    authority = os.environ.get("FEEDBENCH_CA_FILE")
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        fail(f"cannot use the authority in {authority}: {error}")


def lose_sink(error: Exception) -> NoReturn:
    """No way to go on: what comes now could not be recorded."""
    print(f"cannot write the record: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def delay_ns() -> int:
    given = os.environ.get("FEEDBENCH_DELAY_NS", "0")
    if not given.isdecimal():
        fail(f"FEEDBENCH_DELAY_NS={given} is not supported; a whole number", UNSUPPORTED)
    return int(given)


def clock_after(delay_ns: int) -> Callable[[], int]:
    """time.monotonic_ns, or the same after spinning: the control, whose messages are late by a known time."""
    if not delay_ns:
        return time.monotonic_ns

    def late() -> int:
        until_ns = time.monotonic_ns() + delay_ns
        while (now_ns := time.monotonic_ns()) < until_ns:
            pass
        return now_ns

    return late


def closed(code: int, reason: str) -> str:
    """How an orderly end is told."""
    return f"closed: {code} {reason}".rstrip()


class Client(Protocol):
    """`follow` comes back when the connection has ended, `leave` begins the closing handshake."""

    async def follow(self) -> str: ...

    async def leave(self) -> None: ...


async def _until_the_end(client: Client, feed: Feed) -> str:
    """Follows until the connection ends, or until asked to end; what still comes before the exchange's close
    frame is recorded, too.
    """
    # Runs when the receiving coroutine waits, and before the event loop does.
    feed.call_soon = asyncio.get_running_loop().call_soon
    following = asyncio.ensure_future(client.follow())
    asked = asyncio.ensure_future(feed.ending.until_asked())
    await asyncio.wait({following, asked}, return_when="FIRST_COMPLETED")
    if not following.done():
        if feed.is_connected:
            leaving: Awaitable[None] = client.leave()
            await asyncio.wait({following, asyncio.ensure_future(leaving)}, timeout=END_DEADLINE_S)
        following.cancel()
    asked.cancel()
    try:
        return await following
    except asyncio.CancelledError:
        return "lost: the exchange did not answer the close frame"
    except Exception as error:  # a library's own kinds: no two have one in common
        if feed.is_connected:
            return f"lost: {error}"
        return f"cannot connect to {feed.url}: {error or type(error).__name__}"


def run(
    name: str,
    client_of: Callable[[Feed], Client],
    *,
    stamps: tuple[str, ...] = ("after", "before"),
    scheme: str = "ws",
) -> NoReturn:
    """Runs the client that the command line asks for, to its end and the end of the program."""
    feed = Feed(name, stamps=stamps, scheme=scheme)
    if feed.event_loop == "uvloop":
        import uvloop

        loop_factory = uvloop.new_event_loop
    else:
        loop_factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        reason = runner.run(_until_the_end(client_of(feed), feed))
    sys.exit(feed.end(reason))
