"""Numbers in words: three significant digits and the unit that a person would choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DASH = "–"  # what stands where there is no number


@dataclass(frozen=True)
class Unit:
    """A unit of time for one axis: divide nanoseconds by `nanoseconds` and write `symbol`."""

    symbol: str
    nanoseconds: float


UNITS = (Unit("s", 1e9), Unit("ms", 1e6), Unit("µs", 1e3), Unit("ns", 1.0))


def time_unit(values_ns: Iterable[float | None]) -> Unit:
    """The largest unit in which the middle of the values is at least one."""
    present = sorted(abs(value) for value in values_ns if value)
    middle = present[len(present) // 2] if present else 1.0
    return next((unit for unit in UNITS if middle >= unit.nanoseconds), UNITS[-1])


def significant(value: float, digits: int = 3) -> str:
    """Rounded to `digits` significant digits, without an exponent; thousands are kept apart by a comma."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = int(f"{abs(rounded):e}".split("e")[1])
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"


def duration(value_ns: float | None) -> str:
    """`31500` → `31.5 µs`; nothing → a dash."""
    if value_ns is None:
        return DASH
    unit = next((unit for unit in UNITS if abs(value_ns) >= unit.nanoseconds * 0.9995), UNITS[-1])
    return f"{significant(value_ns / unit.nanoseconds)} {unit.symbol}"


def estimate_words(value_ns: float | None, interval_ns: Sequence[float] | None) -> str:
    """`30.1 [29.0, 31.2] µs`: the value and its interval, if there is one, in the value's unit."""
    if value_ns is None or interval_ns is None:
        return duration(value_ns)
    unit = next((unit for unit in UNITS if abs(value_ns) >= unit.nanoseconds * 0.9995), UNITS[-1])
    value, low, high = (significant(number / unit.nanoseconds) for number in (value_ns, *interval_ns))
    return f"{value} [{low}, {high}] {unit.symbol}"


def size(value_bytes: float | None) -> str:
    """`12300` → `12.3 kB` (powers of ten, as SI has them)."""
    if value_bytes is None:
        return DASH
    for symbol, bytes_each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value_bytes) >= bytes_each:
            return f"{significant(value_bytes / bytes_each)} {symbol}"
    return f"{value_bytes:.0f} B"


def share(value: float | None) -> str:
    """`0.0123` → `1.2 %`, `0.97` → `97 %`."""
    return DASH if value is None else f"{significant(value * 100, 2)} %"


def count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def rate(value_per_s: float | None) -> str:
    return DASH if value_per_s is None else f"{significant(value_per_s)}/s"


def ratio(value: float | None) -> str:
    """`0.912` → `0.912`, `2.134` → `2.13`; below two, three decimals, since per cents matter there."""
    if value is None:
        return DASH
    return f"{value:.3f}" if value < 2 else significant(value)


def ratio_words(value: float | None, interval: Sequence[float] | None) -> str:
    """`0.912 [0.905, 0.920]`."""
    return (
        ratio(value) if interval is None else f"{ratio(value)} [{ratio(interval[0])}, {ratio(interval[1])}]"
    )
