"""Echo and stamp servers with picows."""

import argparse
import asyncio
import json
import os
import signal
import sys
import time

from picows import (
    WSCloseCode,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeRequest,
    ws_create_server,
)

DELAY_NS = int(os.environ.get("FEEDBENCH_DELAY_NS", "0"))
LOG_MESSAGES = os.environ.get("FEEDBENCH_LOG_MESSAGES") == "true"


def before_answer(payload: memoryview) -> None:
    if LOG_MESSAGES:
        print(bytes(payload))
    if DELAY_NS:
        until_ns = time.monotonic_ns() + DELAY_NS
        while time.monotonic_ns() < until_ns:
            pass


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
                before_answer(payload)
            transport.send(frame.msg_type, payload, frame.fin)
        elif frame.msg_type == WSMsgType.CLOSE:
            answer_close(transport, frame)


class Stamp(WSListener):
    def on_ws_connected(self, transport: WSTransport) -> None:
        self.message = bytearray()
        self.answer(transport, 0)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            answer_close(transport, frame)
        elif frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            self.message += frame.get_payload_as_memoryview()
            if frame.fin:
                self.on_message(transport, bytes(self.message))
                self.message.clear()

    def on_message(self, transport: WSTransport, message: bytes) -> None:
        before_answer(message)
        try:
            count = json.loads(message)["c"]
        except (ValueError, KeyError, TypeError):
            transport.send_close(WSCloseCode.UNSUPPORTED_DATA)
            transport.disconnect()
            return
        self.answer(transport, count)

    def answer(self, transport: WSTransport, count: int) -> None:
        transport.send(WSMsgType.TEXT, json.dumps({"c": count, "ts": int(time.time())}).encode())


SERVICES = {b"/echo": Echo, b"/stamp": Stamp}


def listener(request: WSUpgradeRequest) -> WSListener | None:
    service = SERVICES.get(request.path)
    return service() if service else None  # None: picows answers 404


async def main(host: str, port: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await ws_create_server(listener, host, port)
    await stopped.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    try:
        asyncio.run(main(arguments.host, arguments.port))
    except OSError as error:
        sys.exit(f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror}")
