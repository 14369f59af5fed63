"""The paper's FIX 4.2 server on loopback: it answers each request with the same snapshot, and knows no
market.

What it measures is the client's own code, a loopback interface and this server; no exchange is in it. The
exchange's FIX door is another thing.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from feedbench.collectors.fix_session import (
    LOGON,
    LOGOUT,
    MARKET_DATA_REQUEST,
    SNAPSHOT,
    FixSession,
    Received,
    SessionError,
)
from feedbench.errors import FeedbenchError

HOST, PORT = "127.0.0.1", 9898
ECHO, COLLECTOR = "ECHO", "FEEDBENCH"  # CompIDs
# MDEntryType, MDEntryPx, MDEntrySize of a bid and an offer
BEST_OF_BOTH_SIDES = (
    (269, "0"),
    (270, "50000.00"),
    (271, "1"),
    (269, "1"),
    (270, "50000.01"),
    (271, "1"),
)


@asynccontextmanager
async def fix_echo(host: str = HOST, port: int = PORT) -> AsyncIterator[int]:
    """Serves while the block runs; gives its port (0 chooses a free one)."""
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await asyncio.start_server(accept, host, port)
    except OSError as error:
        raise FeedbenchError(
            f"cannot listen: {error.strerror}", where=f"{host}:{port}", hint="--fix-port chooses another port"
        ) from error
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    session = FixSession(ECHO, COLLECTOR)
    try:
        while data := await reader.read(65_536):
            messages, answers = session.receive(data)
            answers += b"".join(_answer(session, message) for message in messages)
            writer.write(answers)
            await writer.drain()
            if any(message.kind == LOGOUT for message in messages):
                return
    except (SessionError, ConnectionError) as error:
        print(f"fix echo: {error}", file=sys.stderr, flush=True)
    finally:
        writer.close()


def _answer(session: FixSession, message: Received) -> bytes:
    if message.kind == LOGON:
        session.heartbeat_s = message.number(108)
        return session.logon()
    if message.kind == LOGOUT:
        return session.logout()
    if message.kind == MARKET_DATA_REQUEST:
        return session.message(
            SNAPSHOT, [(262, message.text(262)), (55, message.text(55)), (268, "2"), *BEST_OF_BOTH_SIDES]
        )
    return b""
