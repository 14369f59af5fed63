"""JSON values in a form that can be compared: numbers by their value, times in the unit that was claimed."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

Json = Any  # whatever json.loads returns; narrowed where it is read

# A claim names its time with the unit in which the client hands it over; what was sent is in nanoseconds.
NS_PER_UNIT = {"_ns": 1, "_us": 1_000, "_ms": 1_000_000}
MISSING = ("missing",)


def parse(text: str) -> Json:
    """JSON without loss: a number with a fraction stays decimal."""
    return json.loads(text, parse_float=Decimal)


def canonical(name: str, value: Json) -> Hashable:
    """A claimed field's value, so that equal values compare equal whatever type the client chose."""
    if name.endswith("_s"):
        return round(Decimal(str(value)) * 1_000_000)
    if any(name.endswith(unit) for unit in NS_PER_UNIT):
        return int(value)
    if name in ("bids", "asks"):
        return tuple((number(level[0]), number(level[1])) for level in value)
    if name.endswith(("_id", "side")):
        return str(value)
    return number(value)


def sent(name: str, fields: Mapping[str, Json]) -> Hashable:
    """What was sent of a field, in the form in which a client would claim it under this name."""
    if name in fields:
        return canonical(name, fields[name])
    stem, _, unit = name.rpartition("_")
    time_ns = fields.get(f"{stem}_ns")
    if time_ns is None:
        return MISSING
    # A float of seconds holds microseconds; whole units are cut off, as clients do.
    return round(Decimal(time_ns) / 1_000) if unit == "s" else int(time_ns) // NS_PER_UNIT[f"_{unit}"]


def number(value: Json) -> Decimal:
    """The value of a number or of a string that holds one; a float's is the shortest that means it."""
    try:
        return value if isinstance(value, Decimal) else Decimal(str(value))
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is not a number") from error


def frozen(value: Json) -> Hashable:
    """A whole JSON value as something that can be compared and looked up; numbers by value."""
    match value:
        case dict():
            return frozenset((key, frozen(item)) for key, item in value.items())
        case list():
            return tuple(frozen(item) for item in value)
        case bool() | None | str():
            return ("literal", value)
        case _:
            return Decimal(str(value))


def leaves(value: Json) -> int:
    """How many single values a JSON value holds."""
    match value:
        case dict():
            return sum(leaves(item) for item in value.values())
        case list():
            return sum(leaves(item) for item in value)
        case _:
            return 1
