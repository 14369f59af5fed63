"""Follows an exchange's feed with Tornado."""

import logging
import sys
from pathlib import Path
from time import time_ns

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client


async def receive(connection: WebSocketClientConnection, feed: feed_client.Feed) -> None:
    clock, record = feed.clock, feed.record
    while True:
        message = await connection.read_message()
        received_ns, unix_ns = clock(), time_ns()
        if message is None:
            return
        record(received_ns, unix_ns, message)


async def receive_stamped_before(connection: WebSocketClientConnection, feed: feed_client.Feed) -> None:
    """The mistake of two studies: what is stamped is when we began to wait."""
    clock, record = feed.clock, feed.record
    while True:
        asked_ns, unix_ns = clock(), time_ns()
        message = await connection.read_message()
        if message is None:
            return
        record(asked_ns, unix_ns, message)


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed

    async def follow(self) -> str:
        request = HTTPRequest(self.feed.url, ssl_options=self.feed.ssl_context)
        compression = {} if self.feed.deflate == "on" else None
        self.connection = await websocket_connect(request, compression_options=compression)
        self.feed.connected()
        for message in self.feed.subscriptions:
            await self.connection.write_message(message)
        take = receive_stamped_before if self.feed.stamp == "before" else receive
        await take(self.connection, self.feed)
        if self.connection.close_code is None:  # nor is a close frame without a code told from none
            return "lost: no close frame"
        return feed_client.closed(self.connection.close_code, self.connection.close_reason or "")

    async def leave(self) -> None:
        self.connection.close(1000)


logging.getLogger().addHandler(logging.NullHandler())  # its own words on what is told in one line
feed_client.run("python/tornado", Client)
