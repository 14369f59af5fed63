"""Follows an exchange's feed with websockets (asyncio)."""

import sys
from pathlib import Path
from time import time_ns

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client


async def receive(connection: ClientConnection, feed: feed_client.Feed) -> None:
    clock, record = feed.clock, feed.record
    async for message in connection:
        record(clock(), time_ns(), message)


async def receive_stamped_before(connection: ClientConnection, feed: feed_client.Feed) -> None:
    """The mistake of two studies: what is stamped is when we began to wait."""
    clock, record = feed.clock, feed.record
    while True:
        asked_ns, unix_ns = clock(), time_ns()
        record(asked_ns, unix_ns, await connection.recv())


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed

    async def follow(self) -> str:
        async with connect(
            self.feed.url,
            ssl=self.feed.ssl_context,
            compression=None if self.feed.deflate == "off" else "deflate",
            proxy=None,
            close_timeout=1,  # only for the end: who doesn't answer our Close must not hold us up
        ) as self.connection:
            self.feed.connected()
            try:
                for message in self.feed.subscriptions:
                    await self.connection.send(message)
                if self.feed.stamp == "before":
                    await receive_stamped_before(self.connection, self.feed)
                else:
                    await receive(self.connection, self.feed)
            except ConnectionClosed as ending:
                if ending.rcvd is None:
                    return f"lost: {ending}"
        return feed_client.closed(self.connection.close_code, self.connection.close_reason)

    async def leave(self) -> None:
        await self.connection.close()


feed_client.run("python/websockets", Client)
