"""Drives an echo server with picows as the client: the next message leaves from the answer's callback."""

import asyncio
import sys
import time
from pathlib import Path

from picows import WSError, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import closed_loop


class Loop(WSListener):
    """One connection's closed loop; `ended` is set at the deadline, or has what went wrong."""

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(
        self, index: int, payload: closed_loop.Payload, deadline_ns: int, stamps: closed_loop.Stamps
    ) -> None:
        self.index, self.deadline_ns, self.stamps = index, deadline_ns, stamps
        self.kind = WSMsgType.BINARY if isinstance(payload, bytes) else WSMsgType.TEXT
        self.payload = payload if isinstance(payload, bytes) else payload.encode()
        self.send_next()

    def send_next(self) -> None:
        self.sent_ns = time.monotonic_ns()
        if self.sent_ns < self.deadline_ns:
            self.stamps.sent += 1
            self.transport.send(self.kind, self.payload)
        elif not self.ended.done():
            self.ended.set_result(None)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        received_ns = time.monotonic_ns()
        if frame.msg_type == self.kind:
            self.stamps.add(self.index, self.sent_ns, received_ns)
            if frame.get_payload_as_memoryview() != self.payload:
                self.stamps.wrong += 1
            self.send_next()
        elif frame.msg_type == WSMsgType.CLOSE:
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        if not self.ended.done():
            self.ended.set_exception(ConnectionError("the server closed the connection"))


async def open_connection(url: str) -> Loop:
    try:
        _, listener = await ws_connect(Loop, url)
    except WSError as error:
        raise ConnectionError(str(error)) from error
    return listener


async def drive(
    connection: Loop,
    index: int,
    payload: closed_loop.Payload,
    deadline_ns: int,
    stamps: closed_loop.Stamps,
) -> None:
    connection.start(index, payload, deadline_ns, stamps)
    await connection.ended


closed_loop.run("python/picows", open_connection, drive)
