"""Durations: `"25ms"` in a scenario, whole nanoseconds inside, `25 ms` on the screen. Sizes: `"2GB"`."""

from __future__ import annotations

import re
from decimal import Decimal

UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
DURATION_HINT = 'write a number and a unit, like "25ms"; the units are ns us ms s m h'

UNITS_BYTES = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
SIZE_HINT = 'write a number and a unit, like "2GB"; the units are B kB MB GB TB KiB MiB GiB TiB'

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kKMGT]?i?B)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")


def parse_duration(text: str) -> int:
    """`"1.5ms"` → 1500000 ns. ValueError when it is no duration, or no whole number of nanoseconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a duration')
    # Decimal, because 0.1 s in binary floating point is not a whole number of nanoseconds.
    duration_ns = Decimal(match[1]) * UNITS_NS[match[2]]
    if duration_ns != int(duration_ns):
        raise ValueError(f'"{text}" is finer than a nanosecond')
    return int(duration_ns)


def parse_size(text: str) -> int:
    """`"1.5GB"` → 1500000000 bytes. ValueError when it is no size, or no whole number of bytes."""
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in UNITS_BYTES:
        raise ValueError(f'"{text}" is not a size')
    size = Decimal(match[1]) * UNITS_BYTES[match[2]]
    if size != int(size):
        raise ValueError(f'"{text}" is finer than a byte')
    return int(size)


def format_duration(duration_ns: int) -> str:
    """As people say it: `250 ns`, `5 µs`, `25 ms`, `1.5 s`, `4 min 40 s`, `1 h 30 min`."""
    if duration_ns < 60 * UNITS_NS["s"]:
        for unit, symbol in (("s", "s"), ("ms", "ms"), ("us", "µs")):
            if duration_ns >= UNITS_NS[unit]:
                return f"{duration_ns / UNITS_NS[unit]:.3g} {symbol}"
        return f"{duration_ns} ns"
    seconds = round(duration_ns / UNITS_NS["s"])
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
