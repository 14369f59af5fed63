"""Follows an exchange's feed with aiohttp."""

import sys
from pathlib import Path
from time import time_ns

from aiohttp import ClientSession, ClientWebSocketResponse, ClientWSTimeout, WSMsgType

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client

MESSAGES = (WSMsgType.TEXT, WSMsgType.BINARY)


async def receive(connection: ClientWebSocketResponse, feed: feed_client.Feed) -> str:
    clock, record = feed.clock, feed.record
    while True:
        message = await connection.receive()
        received_ns, unix_ns = clock(), time_ns()
        if message.type not in MESSAGES:
            return ending(connection, message.type, message.data, message.extra)
        record(received_ns, unix_ns, message.data)


async def receive_stamped_before(connection: ClientWebSocketResponse, feed: feed_client.Feed) -> str:
    """The mistake of two studies: what is stamped is when we began to wait."""
    clock, record = feed.clock, feed.record
    while True:
        asked_ns, unix_ns = clock(), time_ns()
        message = await connection.receive()
        if message.type not in MESSAGES:
            return ending(connection, message.type, message.data, message.extra)
        record(asked_ns, unix_ns, message.data)


def ending(connection: ClientWebSocketResponse, kind: WSMsgType, code: object, reason: str | None) -> str:
    if kind is WSMsgType.CLOSE and isinstance(code, int):
        return feed_client.closed(code, reason or "")
    return f"lost: {connection.exception() or 'no close frame'}"


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed

    async def follow(self) -> str:
        compress = 15 if self.feed.deflate == "on" else 0  # the library's default is off
        async with (
            ClientSession() as session,
            session.ws_connect(
                self.feed.url,
                ssl=self.feed.ssl_context or True,
                compress=compress,
                max_msg_size=0,
                timeout=ClientWSTimeout(ws_close=1),  # only for the end
            ) as self.connection,
        ):
            self.feed.connected()
            for message in self.feed.subscriptions:
                await self.connection.send_str(message)
            take = receive_stamped_before if self.feed.stamp == "before" else receive
            return await take(self.connection, self.feed)

    async def leave(self) -> None:
        await self.connection.close()


feed_client.run("python/aiohttp", Client)
