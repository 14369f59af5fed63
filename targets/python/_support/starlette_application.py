"""The Starlette application that several ASGI servers run."""

import serving
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect


async def receive(connection: WebSocket) -> str | bytes:
    event = await connection.receive()
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(event["code"])
    text = event.get("text")
    message = event["bytes"] if text is None else text
    serving.before_answer(message)
    return message


async def echo(connection: WebSocket) -> None:
    await connection.accept()
    try:
        while True:
            message = await receive(connection)
            if isinstance(message, str):
                await connection.send_text(message)
            else:
                await connection.send_bytes(message)
    except WebSocketDisconnect:
        pass  # the peer has left


async def stamp(connection: WebSocket) -> None:
    await connection.accept()
    await connection.send_text(serving.stamp(0))
    try:
        while answer := serving.stamp_answer(await receive(connection)):
            await connection.send_text(answer)
        await connection.close(1003)
    except WebSocketDisconnect:
        pass  # the peer has left


application = Starlette(routes=[WebSocketRoute("/echo", echo), WebSocketRoute("/stamp", stamp)])
