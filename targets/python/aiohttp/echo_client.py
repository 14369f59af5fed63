"""Drives an echo server with aiohttp as the client."""

import os
import sys
import time
from pathlib import Path

from aiohttp import ClientError, ClientSession, ClientWebSocketResponse, WSMsgType

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import closed_loop

COMPRESS = 15 if os.environ.get("FEEDBENCH_DEFLATE") == "on" else 0  # the library's default is off
Connection = tuple[ClientSession, ClientWebSocketResponse]


async def open_connection(url: str) -> Connection:
    session = ClientSession()
    try:
        return session, await session.ws_connect(url, compress=COMPRESS)
    except ClientError as error:
        await session.close()
        raise ConnectionError(str(error)) from error


async def drive(
    connection: Connection,
    index: int,
    payload: closed_loop.Payload,
    deadline_ns: int,
    stamps: closed_loop.Stamps,
) -> None:
    session, socket = connection
    send = socket.send_str if isinstance(payload, str) else socket.send_bytes
    async with session:
        while (sent_ns := time.monotonic_ns()) < deadline_ns:
            stamps.sent += 1
            await send(payload)
            answer = await socket.receive()
            received_ns = time.monotonic_ns()
            if answer.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                raise ConnectionError("the server closed the connection")
            stamps.add(index, sent_ns, received_ns)
            if answer.data != payload:
                stamps.wrong += 1


closed_loop.run("python/aiohttp", open_connection, drive)
