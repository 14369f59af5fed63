"""What one message of an exchange tells, in words that are the same for all exchanges.

Each dialect is read from the exchange's documents, not from the simulator's source: an independent opinion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from exchange_conformance.dialects import binance, bithumb, bybit, coinbase, gemini, kraken
from exchange_conformance.dialects.told import Told
from exchange_conformance.values import Json, parse

DIALECTS: Mapping[str, Callable[[Json], list[Told]]] = {
    "binance": binance.read,
    "binance-microseconds": binance.read_microseconds,
    "coinbase": coinbase.read,
    "coinbase-advanced": coinbase.read_advanced,
    "gemini-v1": gemini.read_v1,
    "gemini-v2": gemini.read_v2,
    "kraken-v1": kraken.read_v1,
    "kraken-v2": kraken.read_v2,
    "bithumb-legacy": bithumb.read_legacy,
    "bithumb-v2": bithumb.read_v2,
    "bybit": bybit.read,
}


@dataclass(frozen=True)
class Reading:
    """One thing that a message tells, with the message."""

    told: Told
    text: str = field(repr=False)


def read(dialect: str, text: str, *, symbol: str | None = None) -> list[Reading]:
    """Readings of one message; none for acknowledgements, heartbeats and the like.

    `symbol` is the connection's, where messages don't say it (Gemini v1).
    """
    told = DIALECTS[dialect](parse(text))
    return [
        Reading(told=item if item.symbol or symbol is None else item.of(symbol), text=text) for item in told
    ]
