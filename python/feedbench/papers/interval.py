"""A printed number as what it may have been before it was rounded: 0.33 was 0.325 to 0.335."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import product


def half_unit(value: Decimal) -> Decimal:
    """Half a unit of the last printed place: 0.005 for 0.33. Zeros at the end were printed too."""
    return Decimal(5).scaleb(int(value.as_tuple().exponent) - 1)


@dataclass(frozen=True)
class Interval:
    """`value` as printed or computed from printed values; the true one lies in `low` to `high`."""

    low: Decimal
    value: Decimal
    high: Decimal

    @classmethod
    def exact(cls, value: Decimal) -> Interval:
        """A number that was counted or chosen, not rounded."""
        return cls(value, value, value)

    @classmethod
    def printed(cls, value: Decimal) -> Interval:
        """A number that was rounded to what is printed."""
        half = half_unit(value)
        return cls(value - half, value, value + half)

    def widened(self, share: Decimal) -> Interval:
        """With room for `share` of the value on both sides."""
        room = abs(self.value) * share
        return Interval(self.low - room, self.value, self.high + room)

    def overlaps(self, other: Interval) -> bool:
        return self.low <= other.high and other.low <= self.high


def add(terms: Iterable[Interval]) -> Interval:
    low, value, high = (sum(ends, Decimal(0)) for ends in zip(*_ends(terms), strict=True))
    return Interval(low, value, high)


def subtract(left: Interval, right: Interval) -> Interval:
    return Interval(left.low - right.high, left.value - right.value, left.high - right.low)


def multiply(factors: Iterable[Interval]) -> Interval:
    return reduce(lambda left, right: _combined(left, right, Decimal.__mul__), factors)


def divide(left: Interval, right: Interval) -> Interval:
    """ZeroDivisionError when `right` may be zero: then nothing is known of the ratio."""
    if right.low <= 0 <= right.high:
        raise ZeroDivisionError
    return _combined(left, right, Decimal.__truediv__)


def _combined(left: Interval, right: Interval, operation: Callable[[Decimal, Decimal], Decimal]) -> Interval:
    corners = [operation(a, b) for a, b in product((left.low, left.high), (right.low, right.high))]
    return Interval(min(corners), operation(left.value, right.value), max(corners))


def _ends(intervals: Iterable[Interval]) -> list[tuple[Decimal, Decimal, Decimal]]:
    return [(one.low, one.value, one.high) for one in intervals]
