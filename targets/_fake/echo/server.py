"""An echo server that misbehaves on request. Standard library only."""

import argparse
import asyncio
import errno
import json
import os
import signal
import sys
import time

import wire
from faults import Faults, answers, lie

DEATH_STATUS = 3
UNSUPPORTED_STATUS = 127
NOT_TEXT = b"\x00\xff\xfe garbage \x1b[31m\r"


class Messages:
    """Counts the messages of all connections, so that a fault can hit the n-th of them."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.count = 0

    def next_number(self) -> int:
        self.count += 1
        if self.faults.noise:
            make_noise()
        if self.count == self.faults.die_after:
            os._exit(DEATH_STATUS)
        return self.count


class Connection(asyncio.Protocol):
    """One client; asyncio sets TCP_NODELAY."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        self.faults = messages.faults
        self.received = bytearray()
        self.path: str | None = None  # of an open WebSocket
        self.opcode = wire.TEXT
        self.message = bytearray()
        self.held: list[bytes] = []

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.path is None:
            self.take_request()
        while self.path is not None and (parsed := wire.parse(self.received)) is not None:
            frame, length = parsed
            del self.received[:length]
            self.take_frame(frame)

    def take_request(self) -> None:
        end = self.received.find(b"\r\n\r\n")
        if end < 0 or self.faults.handshake == "hang":
            return
        path, fields = wire.request_head(self.received[:end])
        del self.received[: end + 4]
        if self.faults.handshake == "refuse" or path not in ("/echo", "/stamp"):
            self.transport.write(wire.refusing("403 Forbidden" if self.faults.handshake else "404 Not Found"))
            self.transport.close()
            return
        key = "wrong" if self.faults.handshake == "wrong" else fields.get("sec-websocket-key", "")
        self.transport.write(wire.accepting(key))
        self.path = path
        if path == "/stamp":
            self.transport.write(stamp(0))

    def take_frame(self, frame: wire.Frame) -> None:
        if frame.opcode == wire.PING:
            self.transport.write(wire.frame_bytes(wire.PONG, frame.payload))
        elif frame.opcode == wire.CLOSE:
            self.transport.write(wire.frame_bytes(wire.CLOSE, frame.payload))
            self.transport.close()
        elif frame.opcode != wire.PONG:
            self.opcode = frame.opcode or self.opcode  # 0: a continuation of the same
            self.message += frame.payload
            if frame.final:
                payload = bytes(self.message)
                self.message.clear()
                self.take_message(payload)

    def take_message(self, payload: bytes) -> None:
        number = self.messages.next_number()
        if self.path == "/stamp":
            try:
                answer = lied = stamp(json.loads(payload)["c"])
            except (ValueError, KeyError, TypeError):
                self.transport.write(wire.frame_bytes(wire.CLOSE, (1003).to_bytes(2, "big")))
                self.transport.close()
                return
        else:
            answer = wire.frame_bytes(self.opcode, payload)
            lied = wire.frame_bytes(self.opcode, lie(payload))
        spin(self.faults.delay_ns)
        self.transport.writelines(answers(self.faults, number, answer, lied, self.held))


def stamp(count: int) -> bytes:
    return wire.frame_bytes(wire.TEXT, json.dumps({"c": count, "ts": int(time.time())}).encode())


def spin(duration_ns: int) -> None:
    until_ns = time.monotonic_ns() + duration_ns
    while duration_ns and time.monotonic_ns() < until_ns:
        pass


def make_noise() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.buffer.write(NOT_TEXT)
        stream.flush()


async def main(host: str, port: int, faults: Faults) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, (lambda: None) if faults.ignore_sigterm else stopped.set)
    if faults.start == "port-taken":
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    if faults.start != "hang":
        messages = Messages(faults)
        await loop.create_server(lambda: Connection(messages), host, port)
    await stopped.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    asked = Faults.from_environment()
    if asked.noise:
        make_noise()
    if asked.start == "unsupported":
        print("unsupported: a fault knob asks for it", file=sys.stderr)
        sys.exit(UNSUPPORTED_STATUS)
    try:
        asyncio.run(main(arguments.host, arguments.port, asked))
    except OSError as error:
        sys.exit(f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror}")
