"""Prints what moves on an exchange, from a relay, with websockets: the client of Özmen's study."""

import sys
from pathlib import Path

from websockets.asyncio.client import connect

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import movers


async def receive(url: str, found: movers.Movers) -> None:
    async with connect(url, proxy=None, close_timeout=1) as connection:
        async for message in connection:
            found.take(message)


movers.run(receive)
