"""A run's own numbers beside the printed ones, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from feedbench.papers.study import PublishedTable
from feedbench.report.numbers import DASH


@dataclass(frozen=True)
class Line:
    """One printed cell, by the name of its row, and what the run has for it under each of the conditions."""

    row: str
    printed: Decimal
    measured: tuple[float | None, ...]


@dataclass(frozen=True)
class Quantity:
    """One column of one printed table. `target` is what was measured for it."""

    table: str
    where: str
    column: str
    title: str
    target: str
    decimals: int
    lines: tuple[Line, ...]

    def grid(self, conditions: Sequence[str]) -> list[list[str]]:
        """Texts, headings first: the row's name, what is printed, what was measured."""
        return [
            ["", "printed", *(f"measured: {words}" if words else "measured" for words in conditions)],
            *([line.row, f"{line.printed:f}", *map(self._text, line.measured)] for line in self.lines),
        ]

    def _text(self, value: float | None) -> str:
        return DASH if value is None else f"{value:.{self.decimals}f}"


@dataclass(frozen=True)
class Reproduction:
    """`remarks`: printed tables for which the run has nothing, and why."""

    run: str
    conditions: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    remarks: tuple[str, ...]


def row_name(table: PublishedTable, number: int) -> str:
    if table.label:
        return table.labels[number]
    row = table.rows[number]
    if "clients" in row:
        return f"{row['clients']:f} client{'' if row['clients'] == 1 else 's'}"
    return f"row {number + 1}"
