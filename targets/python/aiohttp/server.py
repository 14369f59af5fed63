"""Echo and stamp servers with aiohttp."""

import asyncio
import socket
import sys
from pathlib import Path

from aiohttp import WSCloseCode, WSMsgType, web

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving

COMPRESS = serving.DEFLATE != "off"  # the library's default is on
DATA = (WSMsgType.TEXT, WSMsgType.BINARY)


async def connected(request: web.Request) -> web.WebSocketResponse:
    connection = web.WebSocketResponse(compress=COMPRESS)
    await connection.prepare(request)
    return connection


async def echo(request: web.Request) -> web.WebSocketResponse:
    connection = await connected(request)
    async for message in connection:
        if message.type in DATA:
            serving.before_answer(message.data)
            if message.type == WSMsgType.TEXT:
                await connection.send_str(message.data)
            else:
                await connection.send_bytes(message.data)
    return connection


async def stamp(request: web.Request) -> web.WebSocketResponse:
    connection = await connected(request)
    await connection.send_str(serving.stamp(0))
    async for message in connection:
        if message.type in DATA:
            serving.before_answer(message.data)
            answer = serving.stamp_answer(message.data)
            if answer is None:
                await connection.close(code=WSCloseCode.UNSUPPORTED_DATA)
                break
            await connection.send_str(answer)
    return connection


async def main(listener: socket.socket) -> None:
    application = web.Application()
    application.add_routes([web.get("/echo", echo), web.get("/stamp", stamp)])
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=serving.ssl_context()).start()
    await serving.asked_to_end()
    # Connections that are open would keep a graceful end waiting.
    asyncio.get_running_loop().call_later(1, sys.exit, 0)
    await runner.cleanup()


serving.run(main)
