"""Listens to one WebSocket and records it, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from feedbench.errors import FeedbenchError
from feedbench.recording.file import RecordingFile

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
CONNECT_TIMEOUT_S = 15.0


@dataclass(frozen=True)
class Order:
    """What to record. `subscribe` is sent after each connection began; limits of None are none."""

    url: str
    subscribe: tuple[str, ...] = ()
    authority: Path | None = None
    duration_s: float | None = None
    frames: int | None = None
    acknowledge_every_s: float = 1.0


@dataclass
class Progress:
    """How far it came. A gap lies between two connections: what was sent meanwhile is missing."""

    frames: int = 0
    connections: int = 0
    failed_attempts: int = 0
    gap_s: float = 0.0
    binary: int = 0
    joined_lines: int = 0
    last_trouble: str | None = None
    acknowledged: int = field(default=0)


async def record(
    order: Order,
    file: RecordingFile,
    *,
    stopped: asyncio.Event,
    told: Callable[[Progress], None],
) -> Progress:
    """Records until a limit or `stopped`; `told` hears of each acknowledgement.

    FeedbenchError when the first connection can't be made, or the file can't be written.
    """
    progress = Progress()
    listening = asyncio.ensure_future(_listen(order, file, progress))
    stopping = asyncio.ensure_future(stopped.wait())
    end = None if order.duration_s is None else time.monotonic() + order.duration_s
    try:
        while not (listening.done() or stopping.done()):
            left_s = order.acknowledge_every_s if end is None else end - time.monotonic()
            if left_s <= 0:
                break
            await asyncio.wait(
                {listening, stopping},
                timeout=min(order.acknowledge_every_s, left_s),
                return_when=asyncio.FIRST_COMPLETED,
            )
            progress.acknowledged = file.acknowledge()
            told(progress)
        if listening.done():
            listening.result()
    finally:
        for task in (listening, stopping):
            task.cancel()
        await asyncio.gather(listening, stopping, return_exceptions=True)
    progress.acknowledged = file.acknowledge()
    return progress


async def _listen(order: Order, file: RecordingFile, progress: Progress) -> None:
    """Connects, listens, and connects again, until enough frames are there."""
    pause_s = FIRST_PAUSE_S
    lost_at: float | None = None
    while not _enough(order, progress):
        try:
            async with _connection(order) as connection:
                if lost_at is not None:
                    progress.gap_s += time.monotonic() - lost_at
                    lost_at = None
                progress.connections += 1
                pause_s = FIRST_PAUSE_S
                file.add(f"{order.url} <-> {_seconds(time.time_ns())}".encode())
                await _take(order, connection, file, progress)
        except (OSError, TimeoutError, WebSocketException, InvalidHandshake) as error:
            progress.last_trouble = str(error) or type(error).__name__
            if progress.connections == 0:
                raise FeedbenchError(f"cannot connect: {progress.last_trouble}", where=order.url) from error
            progress.failed_attempts += 1
        if _enough(order, progress):
            return
        lost_at = lost_at or time.monotonic()
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _connection(order: Order) -> connect:
    context = None
    if order.url.startswith("wss:"):
        context = ssl.create_default_context(cafile=None if order.authority is None else str(order.authority))
    try:
        return connect(
            order.url,
            ssl=context,
            open_timeout=CONNECT_TIMEOUT_S,
            max_size=None,
            max_queue=None,
            compression=None,
        )
    except InvalidURI as error:
        raise FeedbenchError("this is no ws:// or wss:// address", where=order.url) from error


async def _take(order: Order, connection: ClientConnection, file: RecordingFile, progress: Progress) -> None:
    """Sends the subscriptions, then records what comes until the connection ends or enough is there."""
    for text in order.subscribe:
        await connection.send(text)
        file.add(f"{order.url} <- {_seconds(time.time_ns())}: {_one_line(text)}".encode())
    async for frame in connection:
        received_ns = time.time_ns()
        if isinstance(frame, bytes):
            progress.binary += 1  # a line holds text
            continue
        line = _one_line(frame)
        progress.joined_lines += line is not frame
        file.add(f"{received_ns} {line}".encode())
        progress.frames += 1
        if _enough(order, progress):
            return


def _enough(order: Order, progress: Progress) -> bool:
    return order.frames is not None and progress.frames >= order.frames


def _one_line(text: str) -> str:
    """JSON may hold line breaks between its values, where a space means the same."""
    return text if "\n" not in text and "\r" not in text else text.replace("\r", " ").replace("\n", " ")


def _seconds(unix_ns: int) -> str:
    return f"{unix_ns // 1_000_000_000}.{unix_ns % 1_000_000_000:09}"
