"""One name for the same instrument, however an exchange or a client spells it."""

from __future__ import annotations

QUOTES = ("USDT", "USD", "KRW", "BTC")
OTHER_NAMES = {"XBT": "BTC"}


def base_of(symbol: str) -> str:
    """`BTC` for btcusdt, BTC/USD, XBT/USD, KRW-BTC, BTC_KRW and the like."""
    parts = symbol.upper().replace("_", "-").replace("/", "-").split("-")
    if len(parts) == 2:
        base = parts[1] if parts[0] in QUOTES and parts[0] != "BTC" else parts[0]
    else:
        base = next((parts[0].removesuffix(quote) for quote in QUOTES if parts[0].endswith(quote)), parts[0])
    return OTHER_NAMES.get(base, base)
