"""Follows an exchange's feed with picows."""

import sys
from pathlib import Path
from time import time_ns

from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client

NO_CODE = 1005  # RFC 6455, section 7.1.5: there was a close frame, without a code


class Listener(WSListener):
    """picows hands over frames, so messages are put together here."""

    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed
        self.parts = bytearray()
        self.ending = "lost: no close frame"

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        self.feed.connected()
        for message in self.feed.subscriptions:
            transport.send(WSMsgType.TEXT, message.encode())

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        received_ns, unix_ns = self.feed.clock(), time_ns()
        kind = frame.msg_type
        if frame.fin and kind == WSMsgType.TEXT:
            self.feed.record(received_ns, unix_ns, frame.get_payload_as_utf8_text())
        elif frame.fin and kind == WSMsgType.BINARY:
            self.feed.record(received_ns, unix_ns, frame.get_payload_as_bytes())
        elif kind == WSMsgType.CLOSE:
            self.take_close(transport, frame)
        elif kind in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            self.take_part(received_ns, unix_ns, frame)

    def take_part(self, received_ns: int, unix_ns: int, frame: WSFrame) -> None:
        if frame.msg_type != WSMsgType.CONTINUATION:
            self.is_text = frame.msg_type == WSMsgType.TEXT
        self.parts += frame.get_payload_as_memoryview()
        if frame.fin:
            message = self.parts.decode() if self.is_text else bytes(self.parts)
            self.parts.clear()
            self.feed.record(received_ns, unix_ns, message)

    def take_close(self, transport: WSTransport, frame: WSFrame) -> None:
        code, reason = frame.get_close_code(), frame.get_close_message()
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else reason or ""
        self.ending = feed_client.closed(NO_CODE if code is None else int(code), text)
        transport.send_close(code if code is not None else WSCloseCode.OK)
        transport.disconnect()


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        if feed.deflate == "on":
            feed_client.fail(
                "FEEDBENCH_DEFLATE=on is not supported: picows has none", feed_client.UNSUPPORTED
            )
        self.feed = feed

    async def follow(self) -> str:
        self.transport, listener = await ws_connect(
            lambda: Listener(self.feed), self.feed.url, ssl_context=self.feed.ssl_context
        )
        await self.transport.wait_disconnected()
        return listener.ending

    async def leave(self) -> None:
        self.transport.send_close(WSCloseCode.OK)
        await self.transport.wait_disconnected()


feed_client.run("python/picows", Client, stamps=("after",))
