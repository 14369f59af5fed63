"""An order book kept from messages, as a client would keep it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from decimal import Decimal

Level = tuple[Decimal, Decimal]
# The best bids and the best asks, best first.
Top = tuple[tuple[Level, ...], tuple[Level, ...]]


class Book:
    """Price levels of both sides. `depth` is to how many levels the exchange informs its subscribers."""

    def __init__(self, *, depth: int | None = None) -> None:
        self._depth = depth
        self._bids: dict[Decimal, Decimal] = {}
        self._asks: dict[Decimal, Decimal] = {}

    def reset(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        """Starts anew from a snapshot."""
        self._bids.clear()
        self._asks.clear()
        self.apply(bids, asks)

    def apply(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        """Sets levels; a quantity of zero removes one. What falls out of the depth is forgotten."""
        for side, levels in ((self._bids, bids), (self._asks, asks)):
            for price, quantity in levels:
                if quantity == 0:
                    side.pop(price, None)
                else:
                    side[price] = quantity
        if self._depth is not None:
            while len(self._bids) > self._depth:
                del self._bids[min(self._bids)]
            while len(self._asks) > self._depth:
                del self._asks[max(self._asks)]

    def top(self, count: int) -> Top:
        """The best levels of each side."""
        bids = heapq.nlargest(count, self._bids.items())
        asks = heapq.nsmallest(count, self._asks.items())
        return tuple(bids), tuple(asks)
