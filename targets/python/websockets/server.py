"""Echo and stamp servers with websockets (asyncio)."""

import socket
import sys
from http import HTTPStatus
from pathlib import Path

from websockets.asyncio.server import Request, Response, ServerConnection, serve

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        serving.before_answer(message)
        await connection.send(message)


async def stamp(connection: ServerConnection) -> None:
    await connection.send(serving.stamp(0))
    async for message in connection:
        serving.before_answer(message)
        answer = serving.stamp_answer(message)
        if answer is None:
            await connection.close(1003)
            return
        await connection.send(answer)


SERVICES = {"/echo": echo, "/stamp": stamp}


def refuse_unknown_path(connection: ServerConnection, request: Request) -> Response | None:
    if request.path in SERVICES:
        return None
    return connection.respond(HTTPStatus.NOT_FOUND, "")


async def serve_path(connection: ServerConnection) -> None:
    await SERVICES[connection.request.path](connection)


async def main(listener: socket.socket) -> None:
    async with serve(
        serve_path,
        sock=listener,
        ssl=serving.ssl_context(),
        process_request=refuse_unknown_path,
        compression=None if serving.DEFLATE == "off" else "deflate",
        close_timeout=1,  # only for the end: a peer that doesn't answer our Close must not hold us up
    ):
        await serving.asked_to_end()


serving.run(main)
