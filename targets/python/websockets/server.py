"""Echo and stamp servers with websockets (asyncio)."""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from http import HTTPStatus

from websockets.asyncio.server import Request, Response, ServerConnection, serve

COMPRESSION = None if os.environ.get("FEEDBENCH_DEFLATE") == "off" else "deflate"
DELAY_NS = int(os.environ.get("FEEDBENCH_DELAY_NS", "0"))
LOG_MESSAGES = os.environ.get("FEEDBENCH_LOG_MESSAGES") == "true"


def before_answer(message: str | bytes) -> None:
    if LOG_MESSAGES:
        print(message)
    if DELAY_NS:
        until_ns = time.monotonic_ns() + DELAY_NS
        while time.monotonic_ns() < until_ns:
            pass


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        before_answer(message)
        await connection.send(message)


async def stamp(connection: ServerConnection) -> None:
    await connection.send(json.dumps({"c": 0, "ts": int(time.time())}))
    async for message in connection:
        before_answer(message)
        try:
            count = json.loads(message)["c"]
        except (ValueError, KeyError, TypeError):
            await connection.close(1003)
            return
        await connection.send(json.dumps({"c": count, "ts": int(time.time())}))


SERVICES = {"/echo": echo, "/stamp": stamp}


def refuse_unknown_path(connection: ServerConnection, request: Request) -> Response | None:
    if request.path in SERVICES:
        return None
    return connection.respond(HTTPStatus.NOT_FOUND, "")


async def serve_path(connection: ServerConnection) -> None:
    await SERVICES[connection.request.path](connection)


async def main(host: str, port: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serve(
        serve_path,
        host,
        port,
        process_request=refuse_unknown_path,
        compression=COMPRESSION,
        close_timeout=1,  # only for the end: a peer that doesn't answer our Close must not hold us up
    ):
        await stopped.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    try:
        asyncio.run(main(arguments.host, arguments.port))
    except OSError as error:
        sys.exit(f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror}")
