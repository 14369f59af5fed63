"""python-kraken-sdk: SpotWSClient (v2); messages come as dictionaries."""

import asyncio
from typing import Any

from claims import Claims
from kraken.spot import SpotWSClient

CHANNELS = {"trade": "trade", "ticker": "ticker", "book": "depth"}


async def main() -> None:
    claims = Claims("python-kraken-sdk", {"trade": 200, "ticker": 50, "depth": 200})

    class Client(SpotWSClient):
        async def on_message(self, message: Any) -> None:
            channel = CHANNELS.get(message.get("channel", ""))
            if channel and message.get("type") == "update":
                for item in message["data"]:
                    claims.message(channel, item["symbol"], item)

    client = Client()
    await client.start()
    await client.subscribe(params={"channel": "trade", "symbol": ["BTC/USD"]})
    await client.subscribe(params={"channel": "ticker", "symbol": ["BTC/USD"]})
    await client.subscribe(params={"channel": "book", "symbol": ["BTC/USD"], "depth": 10})
    while not claims.over and not client.exception_occur:
        await asyncio.sleep(0.05)
    await client.close()
    claims.end()


asyncio.run(main())
