"""A client of the tests: a plain connection to Binance's trades, honest or not (`RAW_CLIENT_LIES`)."""

import asyncio
import json
import os
from typing import Any

import websockets
from claims import Claims

LIES = {
    "price": lambda trade: {**trade, "p": "1.00000000"},
    "side": lambda trade: {**trade, "m": not trade["m"]},
}


async def main() -> None:
    claims = Claims("websockets", {"trade": 1})
    lie = LIES.get(os.environ.get("RAW_CLIENT_LIES", ""))
    trades: list[Any] = []
    async with websockets.connect(f"{claims.ws}/ws/btcusdt@trade") as connection:
        while not claims.over:
            trades.append(json.loads(await connection.recv()))
            trade = trades[-1]
            claims.message("trade", trade["s"], lie(trade) if lie and len(trades) == 50 else trade)
    claims.end()


asyncio.run(main())
