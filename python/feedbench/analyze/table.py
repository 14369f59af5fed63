"""A table as a value: exact values in its rows, and how each column shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


def as_is(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def number(value: float) -> str:
    """Four significant digits, never an exponent for what a person compares."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def microseconds(value_ns: float) -> str:
    return f"{value_ns / 1000:,.2f}"


def percent(share: float) -> str:
    return f"{share:.1%}"


def two_decimals(value: float) -> str:
    return f"{value:.2f}"


@dataclass(frozen=True)
class Column:
    """`name` heads the CSV, `title` what people read; `show` never sees a None."""

    name: str
    title: str
    show: Callable[[Any], str] = as_is


@dataclass(frozen=True)
class Table:
    """`name` is the file's, without suffix."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def shown(self) -> Iterator[list[str]]:
        """Rows as people read them; what is unknown stays empty."""
        for row in self.rows:
            yield [
                "" if value is None else column.show(value)
                for column, value in zip(self.columns, row, strict=True)
            ]
