"""Bybit V5, spot."""

from __future__ import annotations

from exchange_conformance.dialects.told import Told
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json

MILLISECOND_NS = 1_000_000


def read(message: Json) -> list[Told]:
    """Messages with a topic; others are answers to requests."""
    if "topic" not in message:
        return []
    match message["topic"].split("."):
        case ["publicTrade", symbol]:
            return [_trade(trade, base_of(symbol)) for trade in message["data"]]
        case ["tickers", symbol]:
            ticker = message["data"]
            names = {"last": "lastPrice", "high": "highPrice24h", "low": "lowPrice24h"}
            names |= {"open": "prevPrice24h", "volume": "volume24h", "turnover": "turnover24h"}
            fields = {name: ticker[key] for name, key in names.items()}
            return [Told("ticker", base_of(symbol), fields, message)]
        case ["orderbook", depth, symbol]:
            book = message["data"]
            fields = {
                "bids": book["b"],
                "asks": book["a"],
                "last_id": book["u"],
                "time_ns": message["ts"] * MILLISECOND_NS,
            }
            # A book of one level comes whole each time, to everybody; of others only the first message does.
            if depth == "1":
                return [Told("book", base_of(symbol), fields, message)]
            return [Told("depth", base_of(symbol), fields, message, message["type"] == "snapshot")]
        case _:
            return []


def _trade(trade: Json, symbol: str) -> Told:
    fields = {
        "trade_id": trade["i"],
        "price": trade["p"],
        "quantity": trade["v"],
        "side": trade["S"].lower(),
        "time_ns": trade["T"] * MILLISECOND_NS,
    }
    return Told("trade", symbol, fields, trade)
