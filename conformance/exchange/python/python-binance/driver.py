"""python-binance: one multiplex socket; messages come as dictionaries."""

import asyncio

from binance import AsyncClient, BinanceSocketManager
from claims import Claims

CHANNELS = {"trade": "trade", "depthUpdate": "depth", "24hrTicker": "ticker"}
STREAMS = ["btcusdt@trade", "btcusdt@depth@100ms", "btcusdt@ticker", "btcusdt@bookTicker"]


async def main() -> None:
    claims = Claims("python-binance", {"trade": 300, "depth": 20, "ticker": 2, "best": 100})
    client = AsyncClient()
    client.API_URL = f"{claims.rest}/api"
    book = await client.get_order_book(symbol="BTCUSDT")
    assert book["bids"], "the REST book has bids"
    manager = BinanceSocketManager(client)
    manager.STREAM_URL = f"{claims.ws}/"
    async with manager.multiplex_socket(STREAMS) as stream:
        while not claims.over:
            message = (await stream.recv())["data"]
            channel = CHANNELS[message["e"]] if "e" in message else "best"
            claims.message(channel, message["s"], message)
    await client.close_connection()
    claims.end()


asyncio.run(main())
