"""Coinbase Exchange, and Coinbase Advanced Trade."""

from __future__ import annotations

from exchange_conformance.dialects.told import Told, rfc3339_ns
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json

# Matches tell the maker's side; clients turn it into the taker's.
TAKER = {"buy": "sell", "sell": "buy"}


def read(message: Json) -> list[Told]:
    """A message of the Exchange's feed."""
    kind = message.get("type") if isinstance(message, dict) else None
    match kind:
        case "match" | "last_match":
            fields = {
                "trade_id": message["trade_id"],
                "price": message["price"],
                "quantity": message["size"],
                "side": TAKER[message["side"]],
                "maker_side": message["side"],
                "time_ns": rfc3339_ns(message["time"]),
                "sequence": message["sequence"],
            }
            channel, snapshot = "trade", kind == "last_match"
        case "ticker":
            fields = {
                "last": message["price"],
                "bid": message["best_bid"],
                "ask": message["best_ask"],
                "bid_quantity": message["best_bid_size"],
                "ask_quantity": message["best_ask_size"],
                "open": message["open_24h"],
                "high": message["high_24h"],
                "low": message["low_24h"],
                "volume": message["volume_24h"],
                "last_quantity": message["last_size"],
                "trade_id": message["trade_id"],
                "sequence": message["sequence"],
                "time_ns": rfc3339_ns(message["time"]),
            }
            channel, snapshot = "ticker", False
        case "snapshot":
            fields = {"bids": message["bids"], "asks": message["asks"]}
            channel, snapshot = "depth", True
        case "l2update":
            fields = {
                "bids": [change[1:] for change in message["changes"] if change[0] == "buy"],
                "asks": [change[1:] for change in message["changes"] if change[0] == "sell"],
                "time_ns": rfc3339_ns(message["time"]),
            }
            channel, snapshot = "depth", False
        case _:
            return []
    return [Told(channel, base_of(message["product_id"]), fields, message, snapshot)]


def read_advanced(message: Json) -> list[Told]:
    """A message of Advanced Trade: an envelope with events, each with several items."""
    told = []
    for event in message.get("events", []):
        snapshot = event.get("type") == "snapshot"
        envelope_ns = rfc3339_ns(message["timestamp"])
        for ticker in event.get("tickers", []):
            fields = {
                "last": ticker["price"],
                "volume": ticker["volume_24_h"],
                "low": ticker["low_24_h"],
                "high": ticker["high_24_h"],
                "bid": ticker["best_bid"],
                "ask": ticker["best_ask"],
                "bid_quantity": ticker["best_bid_quantity"],
                "ask_quantity": ticker["best_ask_quantity"],
                "event_time_ns": envelope_ns,
            }
            told.append(Told("ticker", base_of(ticker["product_id"]), fields, ticker, snapshot))
        for trade in event.get("trades", []):
            fields = {
                "trade_id": trade["trade_id"],
                "price": trade["price"],
                "quantity": trade["size"],
                "side": trade["side"].lower(),
                "time_ns": rfc3339_ns(trade["time"]),
            }
            told.append(Told("trade", base_of(trade["product_id"]), fields, trade, snapshot))
        if "updates" in event:
            sides: dict[str, list[list[Json]]] = {"bid": [], "offer": []}
            for update in event["updates"]:
                sides[update["side"]].append([update["price_level"], update["new_quantity"]])
            fields = {"bids": sides["bid"], "asks": sides["offer"], "event_time_ns": envelope_ns}
            told.append(Told("depth", base_of(event["product_id"]), fields, event, snapshot))
    return told
