"""Prints what moves on an exchange, from a relay, with Tornado: the client of Özmen's study."""

import sys
from pathlib import Path

from tornado.websocket import websocket_connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import movers


async def receive(url: str, found: movers.Movers) -> None:
    connection = await websocket_connect(url)
    try:
        while (message := await connection.read_message()) is not None:
            found.take(message)
    finally:
        connection.close()


movers.run(receive)
