"""Runs in ccxt's environment: keeps the book of BTC/USDT until an update, then prints it whole."""

import asyncio
import json
import sys

import ccxt.pro


async def main(port: str, last_update: int) -> None:
    exchange = ccxt.pro.binance({"options": {"fetchMarkets": {"types": ["spot"]}}})
    exchange.urls["api"]["ws"]["spot"] = f"ws://127.0.0.1:{port}/ws"
    exchange.urls["api"]["public"] = f"http://127.0.0.1:{port}/api/v3"
    exchange.has["fetchCurrencies"] = False
    try:
        book = await exchange.watch_order_book("BTC/USDT", 5000)
        while book["nonce"] < last_update:
            book = await exchange.watch_order_book("BTC/USDT", 5000)
        print(json.dumps({side: [level[:2] for level in book[side]] for side in ("bids", "asks")}))
    finally:
        await exchange.close()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
