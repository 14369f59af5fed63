"""An echo server that misbehaves on request. Standard library only."""

import argparse
import asyncio
import errno
import json
import os
import signal
import ssl
import sys
import time
from dataclasses import replace

import handshake
import wire
from deflate import WIDEST_BITS, Agreement, Compressor, Decompressor, agree
from faults import DEVIATIONS, Faults, answers, lie
from reading import Event, Reader

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
        self.request = bytearray()
        self.path: str | None = None  # of an open WebSocket
        self.reader: Reader | None = None
        self.compressor: Compressor | None = None
        self.held: list[bytes] = []

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.reader is None:
            self.request += data
            data = self.take_request()
        if self.reader is None or self.transport.is_closing():
            return
        try:
            for event in self.reader.feed(data):
                self.take(event)
                if self.transport.is_closing():
                    return
        except wire.PeerError as failure:
            self.close(wire.close_payload(failure.code))

    def take_request(self) -> bytes:
        """Answers the request when it is whole; what came after it is frames."""
        end = self.request.find(b"\r\n\r\n")
        if end < 0 or self.faults.handshake == "hang":
            return b""
        request = handshake.read_head(self.request[:end])
        status = handshake.complaint(request, any_version=self.faults.deviates == "version-unchecked")
        path = handshake.path_of(request)
        if status is None and path not in ("/echo", "/stamp"):
            status = "404 Not Found"
        if self.faults.handshake == "refuse":
            status = "403 Forbidden"
        if status is not None:
            self.transport.write(handshake.refusing(status))
            self.transport.close()
            return b""
        self.accept(request)
        self.path = path
        if path == "/stamp":
            self.send(wire.TEXT, stamp(0))
        return bytes(self.request[end + 4 :])

    def accept(self, request: handshake.Head) -> None:
        deviates = self.faults.deviates
        key = "wrong" if self.faults.handshake == "wrong" else request.value("sec-websocket-key") or ""
        agreed = None
        if self.faults.deflate == "on":
            offers = request.value("sec-websocket-extensions") or ""
            agreed = agree(offers, any_parameters=deviates == "deflate-parameters-unchecked")
        subprotocol = "invented.example" if deviates == "subprotocol-invented" else None
        answer = handshake.accepting(key, extensions=agreed and agreed[0], subprotocol=subprotocol)
        self.transport.write(answer)
        if agreed is not None:
            self.compressor = Compressor(as_kept(agreed[1], deviates))
        self.reader = Reader(
            peer_masks=True, deviates=deviates, decompressor=Decompressor() if agreed is not None else None
        )

    def take(self, event: Event) -> None:
        if event.kind == wire.PING:
            body = event.payload
            if self.faults.deviates == "pong-payload-changed":
                body = wire.unmask(body, b"\xff\xff\xff\xff") or b"?"
            self.transport.write(wire.frame_bytes(wire.PONG, body))
        elif event.kind == wire.CLOSE:
            self.close(event.payload)
        elif event.kind in (wire.TEXT, wire.BINARY):
            self.take_message(event)

    def close(self, payload: bytes) -> None:
        self.transport.write(wire.frame_bytes(wire.CLOSE, payload))
        self.transport.close()

    def encoded(self, opcode: int, payload: bytes) -> bytes:
        longest_16 = 0xFFFE if self.faults.deviates == "length-border-wrong" else 0xFFFF
        if self.compressor is None:
            return wire.frame_bytes(opcode, payload, longest_16=longest_16)
        compressed = self.compressor.compress(payload)
        return wire.frame_bytes(opcode, compressed, reserved=wire.RSV1, longest_16=longest_16)

    def send(self, opcode: int, payload: bytes) -> None:
        self.transport.write(self.encoded(opcode, payload))

    def take_message(self, message: Event) -> None:
        number = self.messages.next_number()
        payload, lied = message.payload, lie(message.payload)
        if self.path == "/stamp":
            try:
                payload = lied = stamp(json.loads(payload)["c"])
            except (ValueError, KeyError, TypeError):
                self.close(wire.close_payload(1003))
                return
        spin(self.faults.delay_ns)
        for answer in answers(self.faults, number, payload, lied, self.held):
            self.send(message.kind, answer)


def as_kept(agreement: Agreement, deviates: str) -> Agreement:
    """What we do about what we agreed to."""
    if deviates == "deflate-window-ignored":
        return replace(agreement, own_bits=WIDEST_BITS)
    if deviates == "deflate-takeover-kept":
        return replace(agreement, own_takeover=True)
    return agreement


def stamp(count: int) -> bytes:
    return json.dumps({"c": count, "ts": int(time.time())}).encode()


def spin(duration_ns: int) -> None:
    until_ns = time.monotonic_ns() + duration_ns
    while duration_ns and time.monotonic_ns() < until_ns:
        pass


def make_noise() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.buffer.write(NOT_TEXT)
        stream.flush()


def own_port_shared() -> bool:
    return os.environ.get("FEEDBENCH_REUSE_PORT") == "on"


def own_certificate() -> ssl.SSLContext | None:
    if os.environ.get("FEEDBENCH_TLS") != "on":
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["FEEDBENCH_TLS_CERTIFICATE"], os.environ["FEEDBENCH_TLS_KEY"])
    return context


async def main(host: str, port: int, faults: Faults) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, (lambda: None) if faults.ignore_sigterm else stopped.set)
    if faults.start == "port-taken":
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    if faults.start != "hang":
        messages = Messages(faults)
        await loop.create_server(
            lambda: Connection(messages), host, port, reuse_port=own_port_shared(), ssl=own_certificate()
        )
    await stopped.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    asked = Faults.from_environment()
    if asked.deviates not in ("", *DEVIATIONS):
        sys.exit(f"FEEDBENCH_DEVIATES={asked.deviates} is none of {', '.join(DEVIATIONS)}")
    if asked.noise:
        make_noise()
    if asked.start == "unsupported":
        print("unsupported: a fault knob asks for it", file=sys.stderr)
        sys.exit(UNSUPPORTED_STATUS)
    try:
        asyncio.run(main(arguments.host, arguments.port, asked))
    except OSError as error:
        sys.exit(f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror}")
