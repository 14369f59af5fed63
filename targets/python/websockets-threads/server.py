"""Echo and stamp servers with websockets, a thread for each connection."""

import os
import signal
import sys
from http import HTTPStatus
from pathlib import Path

from websockets.sync.server import Request, Response, ServerConnection, serve

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving


def echo(connection: ServerConnection) -> None:
    for message in connection:
        serving.before_answer(message)
        connection.send(message)


def stamp(connection: ServerConnection) -> None:
    connection.send(serving.stamp(0))
    for message in connection:
        serving.before_answer(message)
        answer = serving.stamp_answer(message)
        if answer is None:
            connection.close(1003)
            return
        connection.send(answer)


SERVICES = {"/echo": echo, "/stamp": stamp}


def refuse_unknown_path(connection: ServerConnection, request: Request) -> Response | None:
    if request.path in SERVICES:
        return None
    return connection.respond(HTTPStatus.NOT_FOUND, "")


def serve_path(connection: ServerConnection) -> None:
    SERVICES[connection.request.path](connection)


listener = serving.listening_socket(*serving.parse_arguments())
for number in (signal.SIGTERM, signal.SIGINT):
    # Threads that wait for their peers would keep an ordinary end waiting.
    signal.signal(number, lambda *_: os._exit(0))
with serve(
    serve_path,
    sock=listener,
    ssl=serving.ssl_context(),
    process_request=refuse_unknown_path,
    compression=None if serving.DEFLATE == "off" else "deflate",
) as server:
    server.serve_forever()
