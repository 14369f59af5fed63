"""Echo and stamp servers with Tornado."""

import socket
import sys
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.web import Application
from tornado.websocket import WebSocketHandler

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving

COMPRESSION = {} if serving.DEFLATE == "on" else None


class Handler(WebSocketHandler):
    def open(self) -> None:
        self.set_nodelay(True)

    def check_origin(self, origin: str) -> bool:
        return True

    def get_compression_options(self) -> dict | None:
        return COMPRESSION


class Echo(Handler):
    async def on_message(self, message: str | bytes) -> None:
        serving.before_answer(message)
        await self.write_message(message, binary=isinstance(message, bytes))


class Stamp(Handler):
    async def open(self) -> None:
        super().open()
        await self.write_message(serving.stamp(0))

    async def on_message(self, message: str | bytes) -> None:
        serving.before_answer(message)
        answer = serving.stamp_answer(message)
        if answer is None:
            self.close(1003)
        else:
            await self.write_message(answer)


async def main(listener: socket.socket) -> None:
    listener.setblocking(False)
    application = Application([("/echo", Echo), ("/stamp", Stamp)])
    HTTPServer(application, ssl_options=serving.ssl_context()).add_socket(listener)
    await serving.asked_to_end()


serving.run(main)
