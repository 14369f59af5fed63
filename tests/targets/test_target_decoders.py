"""What the Python clients decode with `FEEDBENCH_DECODER`, held against the vectors of the exchange."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

import pytest
from target_serving import PROJECT, load_module

VECTORS = json.loads((PROJECT.root / "spec/vectors/binary-market-data.json").read_text())["cases"]
DECODERS = load_module("python/_support/binary_messages.py")


def scaled(mantissa: int, exponent: int) -> Decimal:
    return Decimal(mantissa).scaleb(exponent)


def trades(encoding: str, decoded: list[tuple[Any, ...]]) -> list[tuple[int, Decimal, Decimal]]:
    """Number, price and quantity of each."""
    if encoding == "sbe":
        return [(one[4], scaled(one[5], one[2]), scaled(one[6], one[3])) for one in decoded]
    return [(one[8], scaled(one[7], -8), scaled(one[5], -8)) for one in decoded]


def best(encoding: str, one: tuple[Any, ...]) -> list[Decimal]:
    """Bid's price and quantity, then those of the offer."""
    if encoding == "sbe":
        price, quantity = one[2:4]
        return [scaled(value, (price, quantity)[place % 2]) for place, value in enumerate(one[4:])]
    return [scaled(value, -8) for value in one[5:]]


def levels(encoding: str, decoded: list[tuple[Any, ...]]) -> list[tuple[bytes, Decimal, Decimal]]:
    """Side, price and quantity of each."""
    if encoding == "sbe":
        return [(one[-3], scaled(one[-2], one[-5]), scaled(one[-1], one[-4])) for one in decoded]
    return [(one[3], scaled(one[6], -8), scaled(one[4], -8)) for one in decoded]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: f"{case['encoding']}-{case['message']}")
def test_every_field_of_a_vector_is_read(case: dict[str, Any]) -> None:
    encoding, meant = case["encoding"], case["fields"]
    message = bytes.fromhex(case["hex"])
    decoded = getattr(DECODERS, encoding)(message)
    if case["message"] == "trades":
        wanted = [(one["id"], Decimal(one["price"]), Decimal(one["quantity"])) for one in meant["trades"]]
        assert trades(encoding, decoded) == wanted
    elif case["message"] == "best":
        (one,) = decoded
        assert best(encoding, one) == [Decimal(text) for text in (*meant["bid"], *meant["ask"])]
    else:
        sides = ((b"B", meant["bids"]), (b"S", meant["asks"]))
        wanted_levels = [(side, Decimal(p), Decimal(q)) for side, every in sides for p, q in every]
        assert levels(encoding, decoded) == wanted_levels


@pytest.mark.parametrize("encoding", ["sbe", "itch"])
@pytest.mark.parametrize("message", [b"\x01", b"Z" * 40, b"\x12\x00\x10\x27" + bytes(5)])
def test_what_is_no_message_is_an_error_that_clients_pass_over(encoding: str, message: bytes) -> None:
    """feed_client catches just these: an exchange's mistake is recorded as it came."""
    with pytest.raises((ValueError, struct.error)):
        getattr(DECODERS, encoding)(message)
