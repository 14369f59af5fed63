"""Relays an exchange's feed with Tornado, on both sides."""

import asyncio
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from tornado.httpclient import HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler, websocket_connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client
import relaying


class Feed(WebSocketHandler):
    def initialize(self, hub: relaying.Relay) -> None:
        self.hub = hub

    def get_compression_options(self) -> dict[str, int] | None:
        return {} if self.hub.deflate == "on" else None  # the library's default is off

    def open(self) -> None:
        self.set_nodelay(True)
        self.hub.join(self)

    def on_message(self, message: str | bytes) -> None:
        pass  # clients have nothing to say

    def on_close(self) -> None:
        self.hub.leave(self)


class Library:
    async def follow(self, upstream: relaying.Upstream) -> str:
        request = HTTPRequest(upstream.url, ssl_options=upstream.ssl_context)
        compression = {} if upstream.deflate == "on" else None
        connection = await websocket_connect(request, compression_options=compression)
        try:
            for message in upstream.subscriptions:
                await connection.write_message(message)
            upstream.connected()
            while (message := await connection.read_message()) is not None:
                is_text = isinstance(message, str)
                upstream.deliver(message, feed_client.TEXT if is_text else feed_client.BINARY)
        finally:
            connection.close()
        if connection.close_code is None:
            return "lost: the connection broke"
        return feed_client.closed(connection.close_code, connection.close_reason or "")

    async def serve(self, listener: socket.socket, hub: relaying.Relay) -> None:
        server = HTTPServer(Application([("/feed", Feed, {"hub": hub})]))
        listener.setblocking(False)
        server.add_socket(listener)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.stop()
            await server.close_all_connections()

    def send(self, clients: Collection[Feed], payload: relaying.Payload, kind: int) -> None:
        for client in clients:
            with suppress(WebSocketClosedError):  # its on_close comes in a moment
                client.write_message(payload, binary=kind == feed_client.BINARY)


relaying.run(Library())
