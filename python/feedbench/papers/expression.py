"""The arithmetic that a check names its numbers in.

575                                        a number, exact
"duration_h"                               a statement of the study
"table6/Binance/messages"                  a cell: table, row, column (row by its name or number)
{product = [...]}, {sum = [...]}           of any of these
{difference = [a, b]}, {ratio = [a, b]}
{hours = ["start", "end"]}                 from one printed date to another
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.papers.interval import Interval, add, divide, multiply, subtract
from feedbench.papers.study import Paper
from feedbench.suggest import nearest

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Evaluated:
    """`interval` is None when a number that it takes isn't printed: `missing` says which."""

    interval: Interval | None
    words: str
    where: tuple[str, ...]
    missing: tuple[str, ...] = ()
    plain: bool = True  # one number, not worked out from several

    @property
    def as_operand(self) -> str:
        return self.words if self.plain else f"({self.words})"


def evaluate(expression: Any, paper: Paper) -> Evaluated:
    """FeedbenchError when it isn't of the forms above, or names what the file doesn't have."""
    if isinstance(expression, str):
        return _cell(expression, paper) if "/" in expression else _stated(expression, paper)
    if isinstance(expression, int | Decimal) and not isinstance(expression, bool):
        value = Decimal(expression)
        return Evaluated(Interval.exact(value), number_words(value), ())
    if isinstance(expression, Mapping) and len(expression) == 1:
        ((operation, operands),) = expression.items()
        if operation == "hours":
            return _hours(operands, paper)
        if operation in _OPERATIONS and isinstance(operands, Sequence) and operands:
            return _operated(operation, operands, paper)
    raise FeedbenchError(
        f"{expression!r} is no arithmetic",
        where=paper.path,
        hint=f"a number, a name, or one of: hours, {', '.join(_OPERATIONS)}",
    )


def _divided(operands: Sequence[Interval]) -> Interval:
    left, right = operands
    return divide(left, right)


def _subtracted(operands: Sequence[Interval]) -> Interval:
    left, right = operands
    return subtract(left, right)


# How each is worked out, and the sign that stands between its operands.
_OPERATIONS: Mapping[str, tuple[Callable[[Sequence[Interval]], Interval], str]] = {
    "product": (multiply, " × "),
    "sum": (add, " + "),
    "difference": (_subtracted, " − "),
    "ratio": (_divided, " ÷ "),
}


def number_words(value: Decimal) -> str:
    """A printed number, with commas between thousands and every place that was printed."""
    return f"{value:,f}"


def computed_words(value: Decimal) -> str:
    """A number that was worked out, to five figures or whole ones."""
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    rounded = f"{Decimal(f'{value:.5g}'):,f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def _stated(name: str, paper: Paper) -> Evaluated:
    statement = _statement(name, paper)
    if statement.value is None:
        return Evaluated(None, statement.text, (statement.where,), (statement.text,))
    if isinstance(statement.value, datetime):
        raise FeedbenchError(f'"{name}" is a date', where=paper.path, hint="use hours")
    make = Interval.exact if statement.exact else Interval.printed
    unit = f" {statement.unit}" if statement.unit else ""
    return Evaluated(make(statement.value), f"{number_words(statement.value)}{unit}", (statement.where,))


def _statement(name: str, paper: Paper) -> Any:
    if name not in paper.statements:
        raise FeedbenchError(
            f'there is no statement "{name}"', where=paper.path, hint=nearest(name, paper.statements)
        )
    return paper.statements[name]


def _cell(name: str, paper: Paper) -> Evaluated:
    # A column may itself hold a slash; a row's name may not.
    parts = name.split("/", 2)
    if len(parts) < 3:
        raise FeedbenchError(f'"{name}" is no cell', where=paper.path, hint="write table/row/column")
    table = paper.table(parts[0])
    rows = table.by_label() if table.label else {str(n): row for n, row in enumerate(table.rows, start=1)}
    for key, known in ((parts[1], rows), (parts[2], table.columns)):
        if key not in known:
            raise FeedbenchError(
                f'there is no "{key}" in table "{table.id}"', where=paper.path, hint=nearest(key, known)
            )
    value = rows[parts[1]][parts[2]]
    make = Interval.exact if table.exact else Interval.printed
    return Evaluated(make(value), number_words(value), (table.where,))


def _hours(operands: Any, paper: Paper) -> Evaluated:
    start, end = (_statement(name, paper) for name in operands)
    if not isinstance(start.value, datetime) or not isinstance(end.value, datetime):
        raise FeedbenchError("hours takes two dates", where=paper.path)
    hours = Decimal((end.value - start.value).total_seconds()) / SECONDS_PER_HOUR
    words = f"{start.value:%-d %B %Y %H:%M} to {end.value:%-d %B %Y %H:%M}"
    return Evaluated(Interval.exact(hours), words, (start.where, end.where), plain=False)


def _operated(operation: str, operands: Sequence[Any], paper: Paper) -> Evaluated:
    each = [evaluate(operand, paper) for operand in operands]
    combine, sign = _OPERATIONS[operation]
    words = sign.join(one.as_operand for one in each)
    where = tuple(dict.fromkeys(place for one in each for place in one.where))
    missing = tuple(name for one in each for name in one.missing)
    intervals = [one.interval for one in each if one.interval is not None]
    if missing:
        return Evaluated(None, words, where, missing, plain=False)
    try:
        return Evaluated(combine(intervals), words, where, plain=False)
    except (ValueError, ZeroDivisionError) as error:
        raise FeedbenchError(f"{words} can't be worked out", where=paper.path) from error
