"""Follows an exchange's feed with Autobahn (asyncio)."""

import asyncio
import logging
import sys
from pathlib import Path
from time import time_ns
from urllib.parse import urlsplit

from autobahn.asyncio.websocket import WebSocketClientFactory, WebSocketClientProtocol
from autobahn.websocket.compress import (
    PerMessageDeflateOffer,
    PerMessageDeflateResponse,
    PerMessageDeflateResponseAccept,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client

NO_CODE = 1005  # RFC 6455, section 7.1.5: there was a close frame, without a code


class Protocol(WebSocketClientProtocol):
    """`ended` comes with how the connection ended."""

    feed: feed_client.Feed
    ended: asyncio.Future[str]

    def onOpen(self) -> None:  # noqa: N802
        self.feed.connected()
        for message in self.feed.subscriptions:
            self.sendMessage(message.encode())

    def onMessage(self, payload: bytes, is_binary: bool) -> None:  # noqa: N802
        received_ns, unix_ns = self.feed.clock(), time_ns()
        self.feed.record(received_ns, unix_ns, payload if is_binary else payload.decode())

    def onClose(self, was_clean: bool, code: int | None, reason: str | None) -> None:  # noqa: N802
        if self.ended.done():
            return
        if not self.feed.is_connected:
            self.ended.set_exception(ConnectionError(reason))
        elif self.remoteCloseCode is None and not was_clean:
            self.ended.set_result(f"lost: {reason or 'no close frame'}")
        else:
            remote_reason = self.remoteCloseReason or ""
            self.ended.set_result(feed_client.closed(self.remoteCloseCode or NO_CODE, remote_reason))


def accept_deflate(response: PerMessageDeflateResponse) -> PerMessageDeflateResponseAccept:
    return PerMessageDeflateResponseAccept(response)


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed

    async def follow(self) -> str:
        factory = WebSocketClientFactory(self.feed.url)
        factory.protocol = Protocol
        # Only for the end: the exchange closes the connection, and who does not must not hold us up.
        factory.setProtocolOptions(closeHandshakeTimeout=1, serverConnectionDropTimeout=1)
        if self.feed.deflate == "on":
            factory.setProtocolOptions(
                perMessageCompressionOffers=[PerMessageDeflateOffer()],
                perMessageCompressionAccept=accept_deflate,
            )
        Protocol.feed = self.feed
        Protocol.ended = asyncio.get_running_loop().create_future()
        url = urlsplit(self.feed.url)
        _, self.protocol = await asyncio.get_running_loop().create_connection(
            factory, url.hostname, url.port, ssl=self.feed.ssl_context
        )
        return await Protocol.ended

    async def leave(self) -> None:
        self.protocol.sendClose(1000)


logging.getLogger().addHandler(logging.NullHandler())  # its own words on what is told in one line
feed_client.run("python/autobahn", Client, stamps=("after",))
