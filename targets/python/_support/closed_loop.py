"""What the Python echo clients share: arguments, time stamps and files (spec/README.md, "Echo client").

A client brings two coroutines of its own library: one that opens a connection, and one that sends, waits
and sends again until a deadline. All of this runs before the first message or after the last, except
`Stamps.add`.
"""

import argparse
import asyncio
import json
import signal
import struct
import sys
import time
import zlib
from array import array
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"FBSAMPLE"
FOOTER_MAGIC = b"FBSMPEND"
VERSION = 1
RECORD_BYTES = 32
COLUMNS = ["intended_ns", "sent_ns", "received_ns", "connection", "slice"]
ROOM_PER_SECOND = 100_000  # more messages than one Python client can exchange
GRACE_S = 2.0  # how long after the deadline a last answer may take

Payload = str | bytes


class Stamps:
    """When each message was sent and its answer received, in arrays that stand before the clock starts."""

    def __init__(self, room: int) -> None:
        self.sent_ns = array("Q", bytes(8 * room))
        self.received_ns = array("Q", bytes(8 * room))
        self.connection = array("I", bytes(4 * room))
        self.count = 0
        self.sent = 0
        self.wrong = 0

    def add(self, connection: int, sent_ns: int, received_ns: int) -> None:
        at = self.count
        if at == len(
            self.sent_ns
        ):  # the room was guessed generously; growing costs this one message its time
            for column in (self.sent_ns, self.received_ns, self.connection):
                column.extend(column)
        self.sent_ns[at] = sent_ns
        self.received_ns[at] = received_ns
        self.connection[at] = connection
        self.count = at + 1


def sample_file(stamps: Stamps, name: str) -> bytes:
    """The records as a sample file. A closed loop intends to send when it sends; there are no slices."""
    header = json.dumps(
        {"clock": "CLOCK_MONOTONIC", "name": name, "columns": COLUMNS, "drop_first": 0.0}
    ).encode()
    header += b" " * (-(16 + len(header)) % RECORD_BYTES)
    record = struct.Struct("<QQQII")
    records = b"".join(
        record.pack(sent_ns, sent_ns, received_ns, connection, 0)
        for sent_ns, received_ns, connection in zip(
            stamps.sent_ns[: stamps.count],
            stamps.received_ns[: stamps.count],
            stamps.connection[: stamps.count],
            strict=True,
        )
    )
    opening = MAGIC + struct.pack("<II", VERSION, len(header)) + header
    return opening + records + FOOTER_MAGIC + struct.pack("<QQQ", stamps.count, zlib.crc32(records), 0)


@dataclass(frozen=True)
class Campaign:
    """One closed loop on each of N connections, in one process and one thread."""

    url: str
    connections: int
    duration_ns: int
    payload: Payload
    samples: Path
    summary: Path


def parse_arguments() -> Campaign:
    parser = argparse.ArgumentParser(
        description="Sends, waits for the echo, sends again, on each of N connections."
    )
    parser.add_argument("--url", required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--duration-ns", type=int, required=True)
    parser.add_argument("--payload-file", type=Path, required=True)
    parser.add_argument("--binary", action="store_true", help="binary messages; else text")
    parser.add_argument("--samples", type=Path, required=True)
    parser.add_argument("--summary", type=Path, required=True)
    given = parser.parse_args()
    if given.connections < 1 or given.duration_ns < 1:
        parser.error("--connections and --duration-ns must be at least 1")
    try:
        payload = given.payload_file.read_bytes()
        message: Payload = payload if given.binary else payload.decode()
    except OSError as error:
        parser.error(f"cannot read {given.payload_file}: {error.strerror}")
    except UnicodeDecodeError:
        parser.error(f"{given.payload_file} is not UTF-8 text; say --binary")
    return Campaign(given.url, given.connections, given.duration_ns, message, given.samples, given.summary)


async def measure(
    campaign: Campaign,
    stamps: Stamps,
    open_connection: Callable[[str], Awaitable[Any]],
    drive: Callable[[Any, int, Payload, int, Stamps], Awaitable[None]],
) -> list[BaseException]:
    """Drives all connections for the campaign's time, once all are open; what went wrong on any of them."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    connections = [await open_connection(campaign.url) for _ in range(campaign.connections)]
    deadline_ns = time.monotonic_ns() + campaign.duration_ns
    loops = [
        asyncio.ensure_future(drive(connection, index, campaign.payload, deadline_ns, stamps))
        for index, connection in enumerate(connections)
    ]
    stop = asyncio.ensure_future(stopped.wait())
    all_done = asyncio.gather(*loops, return_exceptions=True)
    await asyncio.wait(
        {all_done, stop}, timeout=campaign.duration_ns / 1e9 + GRACE_S, return_when="FIRST_COMPLETED"
    )
    stop.cancel()
    for loop in loops:
        loop.cancel()
    return [
        outcome for outcome in await asyncio.gather(*loops, return_exceptions=True) if outcome is not None
    ]


def run(
    name: str,
    open_connection: Callable[[str], Awaitable[Any]],
    drive: Callable[[Any, int, Payload, int, Stamps], Awaitable[None]],
) -> None:
    """Runs the client that the command line asks for; what was measured is written, also after a failure."""
    campaign = parse_arguments()
    stamps = Stamps(int(campaign.duration_ns / 1e9 * ROOM_PER_SECOND) + 1)
    problems: list[BaseException]
    try:
        problems = asyncio.run(measure(campaign, stamps, open_connection, drive))
    except OSError as error:
        sys.exit(f"cannot connect to {campaign.url}: {error}")
    summary = {"schema": 1, "sent": stamps.sent, "received": stamps.count, "wrong": stamps.wrong}
    try:
        campaign.samples.write_bytes(sample_file(stamps, name))
        campaign.summary.write_text(json.dumps(summary) + "\n")
    except OSError as error:
        sys.exit(f"cannot write {error.filename}: {error.strerror}")
    if problems:
        first = problems[0]
        reason = "an answer never came" if isinstance(first, asyncio.CancelledError) else f"{first!r}"
        sys.exit(f"{len(problems)} of {campaign.connections} connections did not reach the end: {reason}")
