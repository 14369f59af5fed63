"""Binance spot streams, raw and combined."""

from __future__ import annotations

from exchange_conformance.dialects.told import Told
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json

CHANNELS = {
    "trade": "trade",
    "aggTrade": "aggregate",
    "depthUpdate": "depth",
    "24hrTicker": "ticker",
    "24hrMiniTicker": "mini_ticker",
}


def read(message: Json) -> list[Told]:
    """Times in milliseconds."""
    return _read(message, unit_ns=1_000_000)


def read_microseconds(message: Json) -> list[Told]:
    """Times in microseconds, as `timeUnit=microsecond` asks for."""
    return _read(message, unit_ns=1_000)


def _read(message: Json, *, unit_ns: int) -> list[Told]:
    data = message.get("data", message) if isinstance(message, dict) else message
    if not isinstance(data, dict):
        return []
    if {"u", "s", "b", "B"} <= data.keys():
        return [Told("best", base_of(data["s"]), _best(data), data)]
    channel = CHANNELS.get(data.get("e", ""))
    if channel is None:
        return []
    fields = {"event_time_ns": data["E"] * unit_ns, **_FIELDS[channel](data, unit_ns)}
    return [Told(channel, base_of(data["s"]), fields, data)]


def _best(data: Json) -> dict[str, Json]:
    return {
        "update_id": data["u"],
        "bid": data["b"],
        "bid_quantity": data["B"],
        "ask": data["a"],
        "ask_quantity": data["A"],
    }


def _trade(data: Json, unit_ns: int) -> dict[str, Json]:
    return {
        "trade_id": data["t"],
        "price": data["p"],
        "quantity": data["q"],
        "time_ns": data["T"] * unit_ns,
        "side": "sell" if data["m"] else "buy",
        "maker_side": "buy" if data["m"] else "sell",
    }


def _aggregate(data: Json, unit_ns: int) -> dict[str, Json]:
    return {**_trade({**data, "t": data["a"]}, unit_ns), "first_id": data["f"], "last_id": data["l"]}


def _depth(data: Json, unit_ns: int) -> dict[str, Json]:
    return {"first_id": data["U"], "last_id": data["u"], "bids": data["b"], "asks": data["a"]}


def _ticker(data: Json, unit_ns: int) -> dict[str, Json]:
    return {
        "change": data["p"],
        "change_percent": data["P"],
        "weighted_mean": data["w"],
        "previous_close": data["x"],
        "last": data["c"],
        "last_quantity": data["Q"],
        "bid": data["b"],
        "bid_quantity": data["B"],
        "ask": data["a"],
        "ask_quantity": data["A"],
        "open": data["o"],
        "high": data["h"],
        "low": data["l"],
        "volume": data["v"],
        "turnover": data["q"],
        "opened_ns": data["O"] * unit_ns,
        "closed_ns": data["C"] * unit_ns,
        "first_id": data["F"],
        "last_id": data["L"],
        "trades": data["n"],
    }


def _mini_ticker(data: Json, unit_ns: int) -> dict[str, Json]:
    keys = {"last": "c", "open": "o", "high": "h", "low": "l", "volume": "v", "turnover": "q"}
    return {name: data[key] for name, key in keys.items()}


_FIELDS = {
    "trade": _trade,
    "aggregate": _aggregate,
    "depth": _depth,
    "ticker": _ticker,
    "mini_ticker": _mini_ticker,
}
