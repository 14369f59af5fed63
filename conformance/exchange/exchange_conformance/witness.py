"""A raw WebSocket connection that records every message, with the subscriptions of the client beside it."""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import websockets
from websockets.asyncio.client import ClientConnection, connect

from exchange_conformance.catalogue import WitnessPlan
from exchange_conformance.errors import ConformanceError
from exchange_conformance.reading import read

READY_S = 60.0


@asynccontextmanager
async def witness(
    plan: WitnessPlan, *, ws: str, rest: str, dialect: str, record: Path
) -> AsyncIterator[None]:
    """Records into `record` from before the context begins until after it ends.

    It begins with the first data, so that what a client subscribes to inside is witnessed whole. At the end a
    ping is sent: what the exchange had sent before its pong has then arrived.
    """
    context = ssl.create_default_context() if ws.startswith("wss:") else None
    try:
        connection = await connect(
            ws + plan.path,
            ssl=context,
            ping_interval=None,
            max_queue=None,
            max_size=None,
            open_timeout=READY_S,
        )
    except (OSError, websockets.WebSocketException, TimeoutError) as error:
        raise ConformanceError(f"the witness could not connect to {ws}{plan.path}: {error}") from error
    with record.open("w", encoding="utf-8") as file:
        begun = asyncio.Event()

        async def receive() -> None:
            async for message in connection:
                text = message if isinstance(message, str) else message.decode()
                file.write(json.dumps({"text": text}) + "\n")
                if not begun.is_set() and read(dialect, text, symbol=plan.symbol or "BTC"):
                    begun.set()

        receiving = asyncio.create_task(receive())
        closed: BaseException | None = None
        try:
            await _begin(connection, plan, begun, receiving)
            for path in plan.snapshots:
                body = await asyncio.to_thread(_get, rest + path)
                file.write(json.dumps({"snapshot": path, "text": body}) + "\n")
            yield
            await asyncio.wait_for(await connection.ping(), READY_S)
        except websockets.ConnectionClosed as error:
            closed = error
        finally:
            await connection.close()
            [ended] = await asyncio.gather(receiving, return_exceptions=True)
        if closed or ended:
            raise ConformanceError(f"the exchange closed the witness's connection: {ended or closed}")


async def _begin(
    connection: ClientConnection, plan: WitnessPlan, begun: asyncio.Event, receiving: asyncio.Task[None]
) -> None:
    for text in plan.send:
        await connection.send(text)
    waiting = asyncio.create_task(begun.wait())
    await asyncio.wait({waiting, receiving}, timeout=READY_S, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not begun.is_set():
        raise ConformanceError(f"the witness got no data from {plan.path} {list(plan.send)}")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=READY_S) as response:  # http and https of the simulator only
        body: bytes = response.read()
    return body.decode()
