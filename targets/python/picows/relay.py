"""Relays an exchange's feed with picows, on both sides: bytes go on as they came."""

import asyncio
import socket
import sys
from collections.abc import Collection
from pathlib import Path

from picows import (
    WSCloseCode,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeRequest,
    ws_connect,
    ws_create_server,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client
import relaying

KINDS = {WSMsgType.TEXT: feed_client.TEXT, WSMsgType.BINARY: feed_client.BINARY}
MESSAGE_TYPES = {kind: message_type for message_type, kind in KINDS.items()}


class Following(WSListener):
    """The connection upstream; picows hands over frames, so messages are put together here."""

    def __init__(self, upstream: relaying.Upstream) -> None:
        self.upstream = upstream
        self.ending = "lost: the connection broke"

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.parts = bytearray()
        for message in self.upstream.subscriptions:
            transport.send(WSMsgType.TEXT, message.encode())
        self.upstream.connected()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type in KINDS:
            self.kind = KINDS[frame.msg_type]
        if frame.msg_type in KINDS or frame.msg_type == WSMsgType.CONTINUATION:
            self.parts += frame.get_payload_as_memoryview()
            if frame.fin:
                self.upstream.deliver(bytes(self.parts), self.kind)
                self.parts.clear()
        elif frame.msg_type == WSMsgType.CLOSE:
            code, reason = frame.get_close_code() or WSCloseCode.OK, frame.get_close_message()
            text = reason.decode(errors="replace") if isinstance(reason, bytes) else reason or ""
            self.ending = feed_client.closed(int(code), text)
            transport.send_close(code)
            transport.disconnect()


class Serving(WSListener):
    """A connection to /feed."""

    def __init__(self, hub: relaying.Relay) -> None:
        self.hub = hub

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        self.hub.join(self)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code() or WSCloseCode.OK)
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.hub.leave(self)


class Library:
    async def follow(self, upstream: relaying.Upstream) -> str:
        transport, following = await ws_connect(
            lambda: Following(upstream), upstream.url, ssl_context=upstream.ssl_context
        )
        try:
            await transport.wait_disconnected()
        finally:
            transport.disconnect()
        return following.ending

    async def serve(self, listener: socket.socket, hub: relaying.Relay) -> None:
        def accept(request: WSUpgradeRequest) -> WSListener | None:
            return Serving(hub) if request.path == b"/feed" else None  # None: picows answers 404

        server = await ws_create_server(accept, sock=listener)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            for client in list(hub.clients):
                client.transport.send_close(WSCloseCode.GOING_AWAY)
                client.transport.disconnect()

    def send(self, clients: Collection[Serving], payload: relaying.Payload, kind: int) -> None:
        for client in clients:
            client.transport.send(MESSAGE_TYPES[kind], payload)


relaying.run(Library())
