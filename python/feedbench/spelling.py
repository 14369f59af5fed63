"""How a factor's value is written: for people and knobs, and inside ids, which are names of folders."""

from __future__ import annotations

FactorValue = str | int | float | bool


def spelled(value: FactorValue) -> str:
    """A value as a knob's text: `true`, `32`, `0.5`, `text:37`, `50%`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def in_id(value: FactorValue) -> str:
    """A value as part of an id: true and "true" are one there, and so are a/b and a-b.

    A slash would be a folder, and a per cent sign begins an escape where a page links to a figure.
    """
    return spelled(value).replace("/", "-").replace("%", "-percent")
