"""Faults that are planted in what the acceptor answers, to show that a check can fail."""

from __future__ import annotations

from collections.abc import Callable

from fix_conformance.wire import Field

Fields = list[Field]
Plant = Callable[[Fields], list[Fields]]


def _body_at(fields: Fields) -> int:
    """Where the last field of the message stands that is neither CheckSum nor required by the frame."""
    return len(fields) - 2


def _removed(fields: Fields) -> list[Fields]:
    return [[*fields[: _body_at(fields)], *fields[-1:]]]


def _swapped(fields: Fields) -> list[Fields]:
    at = _body_at(fields)
    return [[*fields[: at - 1], fields[at], fields[at - 1], *fields[-1:]]]


def _emptied(fields: Fields) -> list[Fields]:
    at = _body_at(fields)
    return [[*fields[:at], (fields[at][0], ""), *fields[-1:]]]


def _added(fields: Fields) -> list[Fields]:
    return [[*fields[:-1], (58, "planted"), *fields[-1:]]]


def _withheld(_: Fields) -> list[Fields]:
    return []


def _repeated(fields: Fields) -> list[Fields]:
    return [fields, fields]


PLANTS: dict[str, Plant] = {
    "removed": _removed,
    "swapped": _swapped,
    "emptied": _emptied,
    "added": _added,
    "withheld": _withheld,
    "repeated": _repeated,
}
