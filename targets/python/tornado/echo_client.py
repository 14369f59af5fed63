"""Drives an echo server with Tornado as the client."""

import os
import sys
import time
from pathlib import Path

from tornado.websocket import WebSocketClientConnection, websocket_connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import closed_loop

COMPRESSION = {} if os.environ.get("FEEDBENCH_DEFLATE") == "on" else None


async def open_connection(url: str) -> WebSocketClientConnection:
    return await websocket_connect(url, compression_options=COMPRESSION)


async def drive(
    connection: WebSocketClientConnection,
    index: int,
    payload: closed_loop.Payload,
    deadline_ns: int,
    stamps: closed_loop.Stamps,
) -> None:
    binary = isinstance(payload, bytes)
    while (sent_ns := time.monotonic_ns()) < deadline_ns:
        stamps.sent += 1
        await connection.write_message(payload, binary=binary)
        answer = await connection.read_message()
        received_ns = time.monotonic_ns()
        if answer is None:
            raise ConnectionError("the server closed the connection")
        stamps.add(index, sent_ns, received_ns)
        if answer != payload:
            stamps.wrong += 1


closed_loop.run("python/tornado", open_connection, drive)
