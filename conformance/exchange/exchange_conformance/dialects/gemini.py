"""Gemini market data, versions 1 and 2."""

from __future__ import annotations

from exchange_conformance.dialects.told import Told
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json

MILLISECOND_NS = 1_000_000


def read_v1(message: Json) -> list[Told]:
    """One symbol per connection: the message does not name it."""
    told = []
    for event in message.get("events", []):
        if event["type"] == "trade":
            fields = {
                "trade_id": event["tid"],
                "price": event["price"],
                "quantity": event["amount"],
                "maker_side": event["makerSide"],
                "event_id": message["eventId"],
                "time_ns": message["timestampms"] * MILLISECOND_NS,
            }
            told.append(Told("trade", "", fields, event))
    changes = [event for event in message.get("events", []) if event["type"] == "change"]
    if changes:
        sides: dict[str, list[list[Json]]] = {"bid": [], "ask": []}
        for change in changes:
            sides[change["side"]].append([change["price"], change["remaining"]])
        snapshot = changes[0]["reason"] == "initial"
        told.append(Told("depth", "", {"bids": sides["bid"], "asks": sides["ask"]}, message, snapshot))
    return told


def read_v2(message: Json) -> list[Told]:
    """The first `l2_updates` of a subscription carries the book, and trades from before it."""
    match message.get("type"):
        case "trade":
            fields = {
                "trade_id": message["tid"],
                "event_id": message["event_id"],
                "price": message["price"],
                "quantity": message["quantity"],
                "side": message["side"],
                "time_ns": message["timestamp"] * MILLISECOND_NS,
            }
            return [Told("trade", base_of(message["symbol"]), fields, message)]
        case "l2_updates":
            fields = {
                "bids": [change[1:] for change in message["changes"] if change[0] == "buy"],
                "asks": [change[1:] for change in message["changes"] if change[0] == "sell"],
            }
            snapshot = "trades" in message
            return [Told("depth", base_of(message["symbol"]), fields, message, snapshot)]
        case _:
            return []
