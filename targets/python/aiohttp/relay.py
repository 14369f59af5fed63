"""Relays an exchange's feed with aiohttp, on both sides."""

import asyncio
import socket
import sys
from collections.abc import Collection
from pathlib import Path

from aiohttp import ClientSession, WSMsgType, web

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client
import relaying

# aiohttp waits where a client does not read, so each has a coroutine of its own; one that is this many
# messages behind is let go.
MOST_WAITING = 1_000
KINDS = {WSMsgType.TEXT: feed_client.TEXT, WSMsgType.BINARY: feed_client.BINARY}


class Client:
    """A connection to /feed, and what waits to be sent over it."""

    def __init__(self, connection: web.WebSocketResponse) -> None:
        self.connection = connection
        self.waiting: asyncio.Queue[relaying.Payload] = asyncio.Queue(MOST_WAITING)
        self.writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        while True:
            payload = await self.waiting.get()
            if isinstance(payload, str):
                await self.connection.send_str(payload)
            else:
                await self.connection.send_bytes(payload)

    def send(self, payload: relaying.Payload) -> None:
        try:
            self.waiting.put_nowait(payload)
        except asyncio.QueueFull:
            self.writing.cancel()


class Library:
    async def follow(self, upstream: relaying.Upstream) -> str:
        compress = 15 if upstream.deflate == "on" else 0  # the library's default is off
        async with (
            ClientSession() as session,
            session.ws_connect(
                upstream.url, ssl=upstream.ssl_context or True, compress=compress
            ) as connection,
        ):
            for message in upstream.subscriptions:
                await connection.send_str(message)
            upstream.connected()
            async for message in connection:
                if message.type in KINDS:
                    upstream.deliver(message.data, KINDS[message.type])
        if connection.close_code is None or connection.exception() is not None:
            return f"lost: {connection.exception()}"
        return feed_client.closed(connection.close_code, "")

    async def serve(self, listener: socket.socket, hub: relaying.Relay) -> None:
        async def feed(request: web.Request) -> web.WebSocketResponse:
            connection = web.WebSocketResponse(compress=hub.deflate != "off")
            await connection.prepare(request)
            client = Client(connection)
            hub.join(client)
            reading = asyncio.ensure_future(self._read(connection))
            try:
                await asyncio.wait({reading, client.writing}, return_when="FIRST_COMPLETED")
            finally:
                hub.leave(client)
                client.writing.cancel()
                reading.cancel()
            return connection

        application = web.Application()
        application.add_routes([web.get("/feed", feed)])
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()

    async def _read(self, connection: web.WebSocketResponse) -> None:
        async for _ in connection:  # clients have nothing to say; this answers their pings and closes
            pass

    def send(self, clients: Collection[Client], payload: relaying.Payload, kind: int) -> None:
        for client in clients:
            client.send(payload)


relaying.run(Library())
