"""A feed client (spec/feed.md) that keeps to its contract but for the rule that FEEDBENCH_DEVIATES names.

The fake's own framing; record, sinks and knobs are those of the Python clients. Its first two arguments are
their folders.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
from urllib.parse import urlsplit

FAKE, SUPPORT = sys.argv.pop(1), sys.argv.pop(1)
sys.path += [FAKE, SUPPORT]
import feed_client  # noqa: E402
import handshake  # noqa: E402
import wire  # noqa: E402
from reading import Reader  # noqa: E402

DEVIATES = os.environ.get("FEEDBENCH_DEVIATES", "")
RECEIVED_AT_ONCE = 65536
LARGE_BYTES = 65536
FORGOTTEN_FROM = 500


class WholeCloses(Reader):
    """Gives a close with its reason."""

    def control(self, frame: wire.Frame) -> bytes:
        super().control(frame)
        return frame.payload


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed
        self.reader = WholeCloses(peer_masks=False, deviates=DEVIATES)
        self.taken = 0

    async def follow(self) -> str:
        ending = await self.follow_once()
        if DEVIATES == "connects-again" and not self.feed.ending.is_asked:
            await self.follow_once()
        return "" if DEVIATES == "reason-omitted" else ending

    async def follow_once(self) -> str:
        url = urlsplit(self.feed.url)
        self.stream, self.writer = await asyncio.open_connection(
            url.hostname,
            url.port,
            ssl=self.feed.ssl_context,
            server_hostname=url.hostname if self.feed.ssl_context else None,
        )
        path = f"{url.path}{'?' if url.query else ''}{url.query}"
        rest = await self.shake_hands(path, url.netloc)
        self.feed.connected()
        if DEVIATES != "subscription-forgotten":
            for message in self.feed.subscriptions:
                self.send(wire.TEXT, message.encode())
        return await self.receive(rest)

    async def shake_hands(self, path: str, host: str) -> bytes:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        head = [f"GET {path} HTTP/1.1", f"Host: {host}", *lines, f"Sec-WebSocket-Key: {key}", "", ""]
        self.writer.write("\r\n".join(head).encode())
        text = (await self.stream.readuntil(b"\r\n\r\n"))[:-4]
        answer = handshake.read_head(text)
        if answer.value("sec-websocket-accept") != handshake.accept_key(key):
            raise ConnectionError("refused")
        return b""

    async def receive(self, part: bytes) -> str:
        while True:
            for event in self.reader.feed(part):
                if event.kind == wire.PING:
                    self.send(wire.PONG, b"?" if DEVIATES == "pong-payload-changed" else event.payload)
                elif event.kind == wire.CLOSE:
                    if not self.feed.ending.is_asked:
                        self.send(wire.CLOSE, event.payload[:2])
                    return feed_client.closed(
                        int.from_bytes(event.payload[:2], "big"), event.payload[2:].decode()
                    )
                elif event.kind in (wire.TEXT, wire.BINARY):
                    self.take(event.kind, event.payload)
            part = await self.stream.read(RECEIVED_AT_ONCE)
            if not part:
                return "lost: the end of the connection"

    def take(self, kind: int, payload: bytes) -> None:
        self.taken += 1
        forgotten = {
            "empty-forgotten": not payload,
            "large-forgotten": len(payload) >= LARGE_BYTES,
            "burst-forgotten": self.taken > FORGOTTEN_FROM,
            "binary-forgotten": kind == wire.BINARY,
        }
        if not forgotten.get(DEVIATES):
            text = kind == wire.TEXT and DEVIATES != "text-as-binary"
            self.feed.record(self.feed.clock(), time.time_ns(), payload.decode() if text else payload)

    def send(self, opcode: int, payload: bytes) -> None:
        self.writer.write(wire.frame_bytes(opcode, payload, mask=os.urandom(4)))

    async def leave(self) -> None:
        if DEVIATES == "no-close-frame":
            os._exit(0)
        self.send(wire.CLOSE, wire.close_payload(wire.NORMAL))


if DEVIATES == "exit-file-ignored":
    os.environ.pop("FEEDBENCH_EXIT_FILE", None)
if DEVIATES == "anybody-trusted":
    import ssl

    feed_client.ssl.create_default_context = lambda cafile=None: ssl._create_unverified_context()
if DEVIATES == "details-omitted":
    feed_client.SCHEMA += "CREATE TRIGGER t AFTER INSERT ON test_details BEGIN DELETE FROM test_details; END;"
feed_client.run("_fake/echo", Client, stamps=("after",))
