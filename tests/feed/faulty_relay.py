"""A relay as spec/feed.md has it, with websockets, that breaks the rule which FEEDBENCH_DEVIATES names.

forgets: each tenth message · dies: at once · repeats: the last message before a loss comes again ·
throws-out: the client that was there first, after two seconds of messages
"""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import sys
import time
from contextlib import suppress

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed

DEVIATES = os.environ.get("FEEDBENCH_DEVIATES", "")
DELAY_NS = int(os.environ.get("FEEDBENCH_DELAY_NS", "0"))
EACH = os.environ.get("FEEDBENCH_UPSTREAM") == "each"
THROWS_OUT_AFTER_NS = 800_000_000
RETRY_S = 0.1


class Relay:
    def __init__(self, url: str) -> None:
        self.url = url
        self.clients: list[ServerConnection] = []
        self.count = 0
        self.begun_ns = 0
        self.last: str | bytes = b""
        self.record = None
        if os.environ.get("FEEDBENCH_SINK") == "stamps":
            self.record = open(os.environ["FEEDBENCH_OUTPUT"], "wb", buffering=0)  # noqa: SIM115
            self.record.write(b"FBSTAMPS" + struct.pack("<II", 1, 0))

    def note(self, at_ns: int, kind: int, payload: bytes) -> None:
        if self.record is not None:
            self.record.write(
                struct.pack("<QQIB3x", at_ns, time.time_ns() // 10**6, len(payload), kind) + payload
            )

    async def follow(self, clients: list[ServerConnection]) -> None:
        while True:
            with suppress(OSError, ConnectionClosed):
                async with connect(self.url, compression=None, proxy=None) as upstream:
                    self.note(time.monotonic_ns(), 3, b"")
                    if DEVIATES == "repeats" and self.last:
                        broadcast(clients, self.last)
                    async for message in upstream:
                        self.pass_on(message, clients)
            await asyncio.sleep(RETRY_S)

    def pass_on(self, message: str | bytes, clients: list[ServerConnection]) -> None:
        until_ns = time.monotonic_ns() + DELAY_NS
        while (now_ns := time.monotonic_ns()) < until_ns:
            pass
        self.begun_ns = self.begun_ns or now_ns
        self.count += 1
        self.last = message
        if not (DEVIATES == "forgets" and self.count % 10 == 0):
            broadcast(clients, message)
        self.note(now_ns, 1, message.encode() if isinstance(message, str) else message)
        if DEVIATES == "throws-out" and now_ns > self.begun_ns + THROWS_OUT_AFTER_NS and self.clients:
            self.begun_ns = 2**62
            self.clients[0].transport.abort()

    async def serve_one(self, client: ServerConnection) -> None:
        mine = [client]
        own = asyncio.create_task(self.follow(mine)) if EACH else None
        self.clients.append(client)
        await client.wait_closed()
        self.clients.remove(client)
        if own is not None:
            own.cancel()


async def main() -> int:
    if DEVIATES == "dies":
        return 3
    _, domain, port, stream, host, listen = sys.argv[1:]
    relay = Relay(f"{domain}:{port}{stream}")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with serve(relay.serve_one, host, int(listen), compression=None):
        shared = None if EACH else asyncio.create_task(relay.follow(relay.clients))
        await stopped.wait()
        if shared is not None:
            shared.cancel()
        relay.note(time.monotonic_ns(), 4, b"")
        for client in relay.clients:
            client.transport.abort()
    return 0


sys.exit(asyncio.run(main()))
