"""Kraken, WebSocket versions 1 and 2."""

from __future__ import annotations

from decimal import Decimal

from exchange_conformance.dialects.told import Told, rfc3339_ns
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json

SECOND_NS = 1_000_000_000
SIDES = {"b": "buy", "s": "sell"}


def read_v2(message: Json) -> list[Told]:
    """Objects with a channel, a type and a list of data."""
    if not isinstance(message, dict) or message.get("type") not in ("snapshot", "update"):
        return []
    snapshot = message["type"] == "snapshot"
    told = []
    for item in message["data"]:
        match message["channel"]:
            case "trade":
                fields = {
                    "trade_id": item["trade_id"],
                    "price": item["price"],
                    "quantity": item["qty"],
                    "side": item["side"],
                    "time_ns": rfc3339_ns(item["timestamp"]),
                }
                told.append(Told("trade", base_of(item["symbol"]), fields, item, snapshot))
            case "ticker":
                names = {"bid": "bid", "ask": "ask", "bid_quantity": "bid_qty", "ask_quantity": "ask_qty"}
                names |= {"last": "last", "volume": "volume", "high": "high", "low": "low", "vwap": "vwap"}
                fields = {name: item[key] for name, key in names.items()}
                told.append(Told("ticker", base_of(item["symbol"]), fields, item, snapshot))
            case "book":
                fields = {
                    "bids": [[level["price"], level["qty"]] for level in item["bids"]],
                    "asks": [[level["price"], level["qty"]] for level in item["asks"]],
                    "checksum": item["checksum"],
                }
                if "timestamp" in item:
                    fields["time_ns"] = rfc3339_ns(item["timestamp"])
                told.append(Told("depth", base_of(item["symbol"]), fields, item, snapshot))
    return told


def read_v1(message: Json) -> list[Told]:
    """Lists: channel number, one or two parts, name of the channel, pair."""
    if not isinstance(message, list):
        return []
    name, symbol = message[-2].partition("-")[0], base_of(message[-1])
    match name:
        case "trade":
            return [_trade_v1(trade, symbol) for trade in message[1]]
        case "ticker":
            ticker = message[1]
            fields = {"bid": ticker["b"][0], "ask": ticker["a"][0], "last": ticker["c"][0]}
            return [Told("ticker", symbol, fields, message)]
        case "spread":
            bid, ask, time, bid_quantity, ask_quantity = message[1]
            fields = {
                "bid": bid,
                "ask": ask,
                "bid_quantity": bid_quantity,
                "ask_quantity": ask_quantity,
                "time_ns": int(Decimal(time) * SECOND_NS),
            }
            return [Told("best", symbol, fields, message)]
        case "book":
            return [_book_v1(message, symbol)]
        case _:
            return []


def _trade_v1(trade: Json, symbol: str) -> Told:
    price, quantity, time, side, _, _ = trade
    fields = {
        "price": price,
        "quantity": quantity,
        "side": SIDES[side],
        "time_ns": int(Decimal(time) * SECOND_NS),
    }
    return Told("trade", symbol, fields, trade)


def _book_v1(message: Json, symbol: str) -> Told:
    levels: dict[str, list[Json]] = {"b": [], "a": [], "bs": [], "as": []}
    for part in message[1:-2]:
        for side in levels.keys() & part.keys():
            levels[side] += part[side]
    snapshot = "as" in message[1]
    bids, asks = levels["b"] + levels["bs"], levels["a"] + levels["as"]
    times = [Decimal(level[2]) for level in bids + asks]
    fields = {
        "bids": [level[:2] for level in bids],
        "asks": [level[:2] for level in asks],
        "time_ns": int(max(times) * SECOND_NS),
    }
    return Told("depth", symbol, fields, message, snapshot)
