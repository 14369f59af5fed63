"""The binary personalities over real sockets: read with Python's struct, held against JSON and the ledger."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from running_exchange import Exchange
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "binary-market-data.json"
SYMBOL = "BTCUSDT"
LIMITS = ("--symbols", "1", "--pacing", "unpaced", "--opened-unix", "1618677817", "--events", "4000")


@dataclass(frozen=True)
class Best:
    """Best prices after an update."""

    update: int
    bid: tuple[Decimal, Decimal]
    ask: tuple[Decimal, Decimal]


@dataclass(frozen=True)
class Trade:
    """One trade."""

    number: int
    price: Decimal
    quantity: Decimal


def scaled(mantissa: int, exponent: int) -> Decimal:
    return Decimal(mantissa).scaleb(exponent)


def sbe(message: bytes) -> Iterator[Best | Trade]:
    """stream_1_0.xml, templates 10000 and 10001."""
    block, template, schema, version = struct.unpack_from("<HHHH", message)
    assert (schema, version) == (1, 0)
    if template == 10_001:
        assert block == 50
        _, update, price, quantity, *numbers = struct.unpack_from("<qqbbqqqq", message, 8)
        bid, ask = [(scaled(n[0], price), scaled(n[1], quantity)) for n in (numbers[:2], numbers[2:])]
        yield Best(update, bid, ask)
        at = 8 + block
    else:
        assert (template, block) == (10_000, 18)
        _, _, price, quantity, width, count = struct.unpack_from("<qqbbHI", message, 8)
        at = 8 + block + 6
        for _ in range(count):
            number, price_mantissa, quantity_mantissa, _ = struct.unpack_from("<qqqB", message, at)
            yield Trade(number, scaled(price_mantissa, price), scaled(quantity_mantissa, quantity))
            at += width
    assert message[at:] == bytes([len(SYMBOL)]) + SYMBOL.encode()


def itch(message: bytes) -> Iterator[Best | Trade]:
    """docs/exchange.md, kinds P and Q."""
    while message:
        kind, locate, tracking = struct.unpack_from(">cHH", message)
        assert (locate, tracking) == (1, 0)
        if kind == b"Q":
            symbol, update, *numbers = struct.unpack_from(">8sQQQQQ", message, 11)
            bid, ask = [(scaled(n[0], -8), scaled(n[1], -8)) for n in (numbers[:2], numbers[2:])]
            yield Best(update, bid, ask)
            message = message[59:]
        else:
            assert kind == b"P"
            _, side, quantity, symbol, price, number = struct.unpack_from(">QcQ8sQQ", message, 11)
            assert side in (b"B", b"S")
            yield Trade(number, scaled(price, -8), scaled(quantity, -8))
            message = message[52:]
        assert symbol.decode() == SYMBOL.ljust(8)


def from_json(message: str) -> Iterator[Best | Trade]:
    """What Binance's JSON says of the same."""
    told = json.loads(message, parse_float=Decimal)
    if told.get("e") == "trade":
        yield Trade(told["t"], Decimal(told["p"]), Decimal(told["q"]))
    else:
        bid, ask = ((Decimal(told[price]), Decimal(told[price.upper()])) for price in "ba")
        yield Best(told["u"], bid, ask)


def received(url: str) -> list[Any]:
    """Everything until the exchange closes."""
    messages: list[Any] = []
    with connect(url, max_queue=None, compression=None, proxy=None) as client:
        try:
            while True:
                messages.append(client.recv(timeout=60))
        except ConnectionClosed:
            return messages


@pytest.mark.parametrize("stream", ["best", "trade"])
def test_all_encodings_tell_the_same_events(start_exchange: Callable[..., Exchange], stream: str) -> None:
    told: dict[str, list[Best | Trade]] = {}
    for name, read, best in [
        ("binance", from_json, "bookTicker"),
        ("binance-sbe", sbe, "bestBidAsk"),
        ("itch", itch, "bookTicker"),
    ]:
        exchange = start_exchange("--personality", name, "--wait-for", "1", *LIMITS)
        kind = best if stream == "best" else "trade"
        messages = received(f"{exchange.urls[name]['ws']}/ws/btcusdt@{kind}")
        told[name] = [event for message in messages for event in read(message)]  # type: ignore[operator]
        totals, ledger = exchange.end()
        payloads = [m.encode() if isinstance(m, str) else m for m in messages]
        assert [len(payload) for payload in payloads] == ledger.messages["bytes"].tolist()
        assert [zlib.crc32(payload) for payload in payloads] == ledger.messages["crc32"].tolist()
        assert totals["doors"][0]["bytes_sent"] == sum(map(len, payloads))
    assert len(told["binance"]) > 100
    assert told["binance-sbe"] == told["binance"]
    assert told["itch"] == told["binance"]


def test_the_vectors_say_what_stands_beside_them() -> None:
    cases = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
    read = {"sbe": sbe, "itch": itch}
    for case in cases:
        if case["message"] not in ("best", "trades"):
            continue
        fields = case["fields"]
        told = list(read[case["encoding"]](bytes.fromhex(case["hex"])))
        if case["message"] == "best":
            bid, ask = (tuple(map(Decimal, fields[side])) for side in ("bid", "ask"))
            assert told == [Best(fields["update"], bid, ask)]  # type: ignore[arg-type]
        else:
            assert told == [
                Trade(trade["id"], Decimal(trade["price"]), Decimal(trade["quantity"]))
                for trade in fields["trades"]
            ]
