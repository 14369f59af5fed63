"""Echo and stamp servers with Tornado."""

import argparse
import asyncio
import json
import os
import signal
import sys
import time

from tornado.web import Application
from tornado.websocket import WebSocketHandler

COMPRESSION = {} if os.environ.get("FEEDBENCH_DEFLATE") == "on" else None
DELAY_NS = int(os.environ.get("FEEDBENCH_DELAY_NS", "0"))
LOG_MESSAGES = os.environ.get("FEEDBENCH_LOG_MESSAGES") == "true"


def before_answer(message: str | bytes) -> None:
    if LOG_MESSAGES:
        print(message)
    if DELAY_NS:
        until_ns = time.monotonic_ns() + DELAY_NS
        while time.monotonic_ns() < until_ns:
            pass


class Handler(WebSocketHandler):
    def open(self) -> None:
        self.set_nodelay(True)

    def check_origin(self, origin: str) -> bool:
        return True

    def get_compression_options(self) -> dict | None:
        return COMPRESSION


class Echo(Handler):
    async def on_message(self, message: str | bytes) -> None:
        before_answer(message)
        await self.write_message(message, binary=isinstance(message, bytes))


class Stamp(Handler):
    async def open(self) -> None:
        super().open()
        await self.answer(0)

    async def on_message(self, message: str | bytes) -> None:
        before_answer(message)
        try:
            count = json.loads(message)["c"]
        except (ValueError, KeyError, TypeError):
            self.close(1003)
            return
        await self.answer(count)

    async def answer(self, count: int) -> None:
        await self.write_message(json.dumps({"c": count, "ts": int(time.time())}))


async def main(host: str, port: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    Application([("/echo", Echo), ("/stamp", Stamp)]).listen(port, host)
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
