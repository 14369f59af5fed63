"""Bithumb (Korea): the legacy socket, and 2.x."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from exchange_conformance.dialects.told import Told
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json

MILLISECOND_NS = 1_000_000
KST = timedelta(hours=9)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# buySellGb: the taker's side
SIDES = {"1": "sell", "2": "buy"}
ASK_BID = {"ASK": "sell", "BID": "buy"}


def read_legacy(message: Json) -> list[Told]:
    """`type` and `content`; acknowledgements have neither."""
    match message.get("type"):
        case "transaction":
            return [_transaction(trade) for trade in message["content"]["list"]]
        case "ticker":
            content = message["content"]
            fields = {
                "open": content["openPrice"],
                "last": content["closePrice"],
                "low": content["lowPrice"],
                "high": content["highPrice"],
                "volume": content["volume"],
            }
            return [Told("ticker", base_of(content["symbol"]), fields, message)]
        case "orderbookdepth":
            items = message["content"]["list"]
            sides: dict[str, list[list[Json]]] = {"bid": [], "ask": []}
            for item in items:
                sides[item["orderType"]].append([item["price"], item["quantity"]])
            fields = {
                "bids": sides["bid"],
                "asks": sides["ask"],
                "time_ns": int(message["content"]["datetime"]) * 1_000,
            }
            return [Told("depth", base_of(items[0]["symbol"]), fields, message)]
        case _:
            return []


def _transaction(trade: Json) -> Told:
    # Korean time without a zone.
    local = datetime.fromisoformat(trade["contDtm"]).replace(tzinfo=UTC) - KST
    fields = {
        "price": trade["contPrice"],
        "quantity": trade["contQty"],
        "turnover": trade["contAmt"],
        "side": SIDES[trade["buySellGb"]],
        "time_ns": (local - EPOCH) // timedelta(microseconds=1) * 1_000,
    }
    return Told("trade", base_of(trade["symbol"]), fields, trade)


def read_v2(message: Json) -> list[Told]:
    """Flat objects; a stream type of SNAPSHOT answers the request."""
    if not isinstance(message, dict) or "type" not in message or "code" not in message:
        return []
    snapshot = message.get("stream_type") == "SNAPSHOT"
    symbol = base_of(message["code"])
    match message["type"]:
        case "trade":
            fields = {
                "trade_id": message["sequential_id"],
                "price": message["trade_price"],
                "quantity": message["trade_volume"],
                "side": ASK_BID[message["ask_bid"]],
                "time_ns": message["trade_timestamp"] * MILLISECOND_NS,
            }
            return [Told("trade", symbol, fields, message, snapshot)]
        case "ticker":
            fields = {
                "open": message["opening_price"],
                "high": message["high_price"],
                "low": message["low_price"],
                "last": message["trade_price"],
                "volume": message["acc_trade_volume_24h"],
                "event_time_ns": message["timestamp"] * MILLISECOND_NS,
            }
            return [Told("ticker", symbol, fields, message, snapshot)]
        case "orderbook":
            units = message["orderbook_units"]
            fields = {
                "bids": [[unit["bid_price"], unit["bid_size"]] for unit in units],
                "asks": [[unit["ask_price"], unit["ask_size"]] for unit in units],
                "event_time_ns": message["timestamp"] * MILLISECOND_NS,
            }
            return [Told("book", symbol, fields, message, snapshot)]
        case _:
            return []
