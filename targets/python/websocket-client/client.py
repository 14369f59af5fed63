"""Follows an exchange's feed with websocket-client, which blocks: on a thread of its own."""

import asyncio
import socket
import sys
from pathlib import Path
from time import time_ns

from websocket import ABNF, WebSocket, WebSocketConnectionClosedException

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client

NO_CODE = 1005  # RFC 6455, section 7.1.5: there was a close frame, without a code
ANSWER_WITHIN_S = 1.0
LOOK_EVERY_S = 0.02


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        if feed.deflate == "on":
            feed_client.fail("FEEDBENCH_DEFLATE=on is not supported", feed_client.UNSUPPORTED)
        self.feed = feed
        self.has_ended = False
        self.connection = WebSocket(sslopt={"context": feed.ssl_context}, skip_utf8_validation=False)

    async def follow(self) -> str:
        self.feed.call_soon = lambda flush: flush()  # this thread's messages come one by one
        try:
            return await asyncio.to_thread(self.receive)
        finally:
            self.has_ended = True

    def receive(self) -> str:
        self.connection.connect(self.feed.url)
        self.feed.connected()
        for message in self.feed.subscriptions:
            self.connection.send(message)
        clock, is_before = self.feed.clock, self.feed.stamp == "before"
        while True:
            asked_ns, asked_unix_ns = (clock(), time_ns()) if is_before else (0, 0)
            try:
                kind, data = self.connection.recv_data()
            except (WebSocketConnectionClosedException, OSError) as error:
                return f"lost: {error}"
            received_ns, unix_ns = (asked_ns, asked_unix_ns) if is_before else (clock(), time_ns())
            if kind == ABNF.OPCODE_CLOSE:
                return close_told(data)
            message = data.decode() if kind == ABNF.OPCODE_TEXT else data
            self.feed.record(received_ns, unix_ns, message)

    async def leave(self) -> None:
        self.connection.send_close()
        for _ in range(int(ANSWER_WITHIN_S / LOOK_EVERY_S)):
            if self.has_ended:
                return
            await asyncio.sleep(LOOK_EVERY_S)
        self.connection.sock.shutdown(socket.SHUT_RDWR)  # ends the thread's wait


def close_told(payload: bytes) -> str:
    if len(payload) < 2:
        return feed_client.closed(NO_CODE, "")
    return feed_client.closed(int.from_bytes(payload[:2], "big"), payload[2:].decode(errors="replace"))


feed_client.run("python/websocket-client", Client)
