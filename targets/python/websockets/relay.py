"""Relays an exchange's feed with websockets (asyncio), on both sides."""

import asyncio
import socket
import sys
from collections.abc import Collection
from http import HTTPStatus
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.http11 import Request, Response

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client
import relaying


def refuse_other_paths(connection: ServerConnection, request: Request) -> Response | None:
    return None if request.path == "/feed" else connection.respond(HTTPStatus.NOT_FOUND, "only /feed\n")


class Library:
    async def follow(self, upstream: relaying.Upstream) -> str:
        async with connect(
            upstream.url,
            ssl=upstream.ssl_context,
            compression=None if upstream.deflate == "off" else "deflate",
            proxy=None,
            close_timeout=1,
        ) as connection:
            for message in upstream.subscriptions:
                await connection.send(message)
            upstream.connected()
            async for message in connection:
                is_text = isinstance(message, str)
                upstream.deliver(message, feed_client.TEXT if is_text else feed_client.BINARY)
        return feed_client.closed(connection.close_code, connection.close_reason)

    async def serve(self, listener: socket.socket, hub: relaying.Relay) -> None:
        async def connected(client: ServerConnection) -> None:
            hub.join(client)
            try:
                async for _ in client:  # clients have nothing to say; this answers their pings and closes
                    pass
            finally:
                hub.leave(client)

        compression = None if hub.deflate == "off" else "deflate"
        async with serve(
            connected,
            sock=listener,
            compression=compression,
            process_request=refuse_other_paths,
            close_timeout=0.5,
        ):
            await asyncio.get_running_loop().create_future()

    def send(self, clients: Collection[ServerConnection], payload: relaying.Payload, kind: int) -> None:
        broadcast(clients, payload)


relaying.run(Library())
