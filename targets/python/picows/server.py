"""Echo and stamp servers with picows."""

import socket
import sys
from pathlib import Path

from picows import (
    WSCloseCode,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeRequest,
    ws_create_server,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving


def answer_close(transport: WSTransport, frame: WSFrame) -> None:
    code = frame.get_close_code() or WSCloseCode.OK  # a Close may come without a code; picows would send 0
    transport.send_close(code, frame.get_close_message())
    transport.disconnect()


class Echo(WSListener):
    # picows hands over frames, not messages: a fragment goes back as the fragment that it is.
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            payload = frame.get_payload_as_memoryview()
            if frame.fin:
                serving.before_answer(payload)
            transport.send(frame.msg_type, payload, frame.fin)
        elif frame.msg_type == WSMsgType.CLOSE:
            answer_close(transport, frame)


class Stamp(WSListener):
    def on_ws_connected(self, transport: WSTransport) -> None:
        self.message = bytearray()
        transport.send(WSMsgType.TEXT, serving.stamp(0).encode())

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            answer_close(transport, frame)
        elif frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            self.message += frame.get_payload_as_memoryview()
            if frame.fin:
                self.on_message(transport, bytes(self.message))
                self.message.clear()

    def on_message(self, transport: WSTransport, message: bytes) -> None:
        serving.before_answer(message)
        answer = serving.stamp_answer(message)
        if answer is None:
            transport.send_close(WSCloseCode.UNSUPPORTED_DATA)
            transport.disconnect()
        else:
            transport.send(WSMsgType.TEXT, answer.encode())


SERVICES = {b"/echo": Echo, b"/stamp": Stamp}


def listener(request: WSUpgradeRequest) -> WSListener | None:
    service = SERVICES.get(request.path)
    return service() if service else None  # None: picows answers 404


async def main(listener_socket: socket.socket) -> None:
    await ws_create_server(listener, sock=listener_socket, ssl=serving.ssl_context())
    await serving.asked_to_end()


serving.run(main)
