"""Echo and stamp servers with Autobahn (asyncio)."""

import asyncio
import socket
import sys
from pathlib import Path

from autobahn.asyncio.websocket import WebSocketServerFactory, WebSocketServerProtocol
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from autobahn.websocket.types import ConnectionDeny, ConnectionRequest

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving


class Protocol(WebSocketServerProtocol):
    def onConnect(self, request: ConnectionRequest) -> None:  # noqa: N802
        if request.path not in ("/echo", "/stamp"):
            raise ConnectionDeny(ConnectionDeny.NOT_FOUND)
        self.is_stamp = request.path == "/stamp"

    def onOpen(self) -> None:  # noqa: N802
        if self.is_stamp:
            self.sendMessage(serving.stamp(0).encode())

    def onMessage(self, payload: bytes, is_binary: bool) -> None:  # noqa: N802
        serving.before_answer(payload)
        if not self.is_stamp:
            self.sendMessage(payload, is_binary)
            return
        answer = serving.stamp_answer(payload)
        if answer is None:
            self.sendClose(3003)  # the library leaves 1003 to itself
        else:
            self.sendMessage(answer.encode())


def accept_deflate(offers: list) -> PerMessageDeflateOfferAccept | None:
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return PerMessageDeflateOfferAccept(offer)
    return None


async def main(listener: socket.socket) -> None:
    scheme = "wss" if serving.TLS else "ws"
    port = listener.getsockname()[1]
    factory = WebSocketServerFactory(f"{scheme}://localhost:{port}")  # only what it would call itself
    factory.protocol = Protocol
    if serving.DEFLATE == "on":
        factory.setProtocolOptions(perMessageCompressionAccept=accept_deflate)
    loop = asyncio.get_running_loop()
    await loop.create_server(factory, sock=listener, ssl=serving.ssl_context())
    await serving.asked_to_end()


serving.run(main)
