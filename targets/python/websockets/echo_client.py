"""Drives an echo server with websockets (asyncio) as the client."""

import os
import sys
import time
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import closed_loop

COMPRESSION = None if os.environ.get("FEEDBENCH_DEFLATE") == "off" else "deflate"


async def open_connection(url: str) -> ClientConnection:
    return await connect(url, compression=COMPRESSION, proxy=None)


async def drive(
    connection: ClientConnection,
    index: int,
    payload: closed_loop.Payload,
    deadline_ns: int,
    stamps: closed_loop.Stamps,
) -> None:
    while (sent_ns := time.monotonic_ns()) < deadline_ns:
        stamps.sent += 1
        await connection.send(payload)
        answer = await connection.recv()
        received_ns = time.monotonic_ns()
        stamps.add(index, sent_ns, received_ns)
        if answer != payload:
            stamps.wrong += 1


closed_loop.run("python/websockets", open_connection, drive)
