"""Decodes binary messages of the simulated exchange (docs/exchange.md), as a program that uses them would.

Prices and quantities stay whole numbers: what they are to be divided by is the message's, or always 10**8.
"""

from struct import Struct

SBE_HEADER = Struct("<HHHH")  # block length, template, schema, version
SBE_TRADES = Struct("<qqbbHI")  # event time, transaction time, two exponents, width and number of trades
SBE_TRADE = Struct("<qqqB")
SBE_BEST = Struct("<qqbbqqqq")  # event time, update, two exponents, bid and ask
SBE_LEVEL = Struct("<qq")
TRADES, BEST, SNAPSHOT, CHANGES = 10_000, 10_001, 10_002, 10_003
SBE_LEVELS = {SNAPSHOT: Struct("<qqbb"), CHANGES: Struct("<qqqbb")}
SBE_GROUP = Struct("<HH")

ITCH_HEADER = Struct(">cHHHI")  # kind, symbol's number, tracking, nanoseconds since midnight
ITCH_BODIES = {
    b"P": Struct(">QcQ8sQQ"),  # maker's order, its side, quantity, symbol, price, trade
    b"Q": Struct(">8sQQQQQ"),  # symbol, update, bid and ask
    b"L": Struct(">cQ8sQQ"),  # side, quantity, symbol, price, update
}

Fields = tuple[int | bytes, ...]


def sbe(message: bytes) -> list[Fields]:
    """Each trade, best price or level with all that the message says; ValueError when it is none of them."""
    if len(message) < SBE_HEADER.size:
        raise ValueError("a message of SBE has a header")
    block, template, _, _ = SBE_HEADER.unpack_from(message)
    at = SBE_HEADER.size
    if template == BEST:
        return [SBE_BEST.unpack_from(message, at)]
    if template == TRADES:
        *head, width, count = SBE_TRADES.unpack_from(message, at)
        at += SBE_TRADES.size
        return [(*head, *SBE_TRADE.unpack_from(message, at + place * width)) for place in range(count)]
    if template not in SBE_LEVELS:
        raise ValueError(f"SBE's template {template} is unknown")
    head = SBE_LEVELS[template].unpack_from(message, at)
    at += block
    levels = []
    for side in (b"B", b"S"):
        width, count = SBE_GROUP.unpack_from(message, at)
        at += SBE_GROUP.size
        levels += [
            (*head, side, *SBE_LEVEL.unpack_from(message, at + place * width)) for place in range(count)
        ]
        at += width * count
    return levels


def itch(message: bytes) -> list[Fields]:
    """Each message of ITCH's that came together; ValueError when one is unknown."""
    found = []
    at = 0
    while at < len(message):
        kind, locate, _, high, low = ITCH_HEADER.unpack_from(message, at)
        if kind not in ITCH_BODIES:
            raise ValueError(f"ITCH's message {kind!r} is unknown")
        body = ITCH_BODIES[kind]
        found.append((kind, locate, high << 32 | low, *body.unpack_from(message, at + ITCH_HEADER.size)))
        at += ITCH_HEADER.size + body.size
    return found
