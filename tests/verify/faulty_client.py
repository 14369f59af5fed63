"""An echo client (spec/README.md) that keeps to RFC 6455, but for the one rule that FEEDBENCH_DEVIATES names.

Standard library and the fake's own framing; no compression. Its first argument is the fake's folder.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

sys.path.append(sys.argv.pop(1))
import handshake
import wire
from reading import Reader

DEVIATES = os.environ.get("FEEDBENCH_DEVIATES", "")
RECEIVED_AT_ONCE = 65536


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--url", "--connections", "--duration-ns", "--payload-file", "--samples", "--summary"):
        parser.add_argument(name, required=True)
    parser.add_argument("--binary", action="store_true")
    asked = parser.parse_args()
    url = urlsplit(asked.url)
    with socket.create_connection((url.hostname, url.port)) as connection:
        rest = shake_hands(connection, f"{url.path}{'?' if url.query else ''}{url.query}", url.netloc)
        opcode = wire.BINARY if asked.binary else wire.TEXT
        client = Client(connection, rest, opcode, Path(asked.payload_file).read_bytes())
        wrong = client.drive(time.monotonic_ns() + int(asked.duration_ns))
    Path(asked.summary).write_text(json.dumps({"schema": 1, "wrong": wrong}), encoding="utf-8")


def shake_hands(connection: socket.socket, path: str, host: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    head = [f"GET {path} HTTP/1.1", f"Host: {host}", *lines, f"Sec-WebSocket-Key: {key}", "", ""]
    connection.sendall("\r\n".join(head).encode())
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(RECEIVED_AT_ONCE)
        if not part:
            sys.exit("no answer")
        received += part
    text, _, rest = received.partition(b"\r\n\r\n")
    answer = handshake.read_head(text)
    accepted = answer.value("sec-websocket-accept") == handshake.accept_key(key)
    if answer.first[1] != "101" or not (accepted or DEVIATES == "accept-unchecked"):
        sys.exit("refused")
    if answer.tokens("upgrade") != {"websocket"} or "upgrade" not in answer.tokens("connection"):
        sys.exit("no upgrade")
    if answer.value("sec-websocket-extensions") or answer.value("sec-websocket-protocol"):
        sys.exit("not asked for")
    return rest


class Client:
    def __init__(self, connection: socket.socket, rest: bytes, opcode: int, payload: bytes) -> None:
        self.connection = connection
        self.reader = Reader(peer_masks=False, deviates=DEVIATES)
        self.pending = list(self.read(rest))
        self.opcode = opcode
        self.payload = payload

    def drive(self, deadline_ns: int) -> int:
        """How many answers were wrong; a close of its own at the end."""
        wrong = 0
        while time.monotonic_ns() < deadline_ns:
            self.send(self.opcode, self.payload)
            wrong += self.answer() != (self.opcode, self.payload)
        self.send(wire.CLOSE, wire.close_payload(wire.NORMAL))
        return wrong

    def answer(self) -> tuple[int, bytes]:
        while True:
            while self.pending:
                kind, payload = self.pending.pop(0)
                if kind == wire.PING:
                    changed = DEVIATES == "pong-payload-changed"
                    self.send(wire.PONG, payload[::-1] + b"?" if changed else payload)
                elif kind == wire.CLOSE:
                    self.send(wire.CLOSE, payload)
                    sys.exit("closed by the server")
                elif kind != wire.PONG:
                    return kind, payload
            part = self.connection.recv(RECEIVED_AT_ONCE)
            if not part:
                sys.exit("the server is gone")
            self.pending += self.read(part)

    def read(self, part: bytes) -> list[tuple[int, bytes]]:
        found = []
        try:
            for event in self.reader.feed(part):
                found.append((event.kind, event.payload))
        except wire.PeerError as error:
            self.send(wire.CLOSE, wire.close_payload(error.code))
            sys.exit("the server broke the protocol")
        return found

    def send(self, opcode: int, payload: bytes) -> None:
        self.connection.sendall(wire.frame_bytes(opcode, payload, mask=os.urandom(4)))


main()
