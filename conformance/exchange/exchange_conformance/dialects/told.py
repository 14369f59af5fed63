"""What a message tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json


@dataclass(frozen=True)
class Told:
    """One fact: a trade, a change of the book, a ticker."""

    channel: str
    symbol: str
    fields: Mapping[str, Json]
    """Prices and quantities as sent; times in nanoseconds, named `…_ns`."""
    message: Json
    """The message or the part of it that tells this, as clients hand it over."""
    snapshot: bool = False
    """True if it was made for the connection that asked, so that other connections see another one."""

    def of(self, symbol: str) -> Told:
        """The same of this symbol."""
        return replace(self, symbol=base_of(symbol))


def rfc3339_ns(text: str) -> int:
    """`2026-11-21T13:00:00.123456Z` in nanoseconds; digits beyond microseconds count."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp())
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9] or 0)
