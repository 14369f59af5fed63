"""Checks of whole tables.

five_numbers   tables: each column ascends from Minimum over Q1, Median, Q3 to Maximum
whiskers       table, columns: minimum and maximum can be ends of whiskers of 1.5 × IQR around the printed box
marks          tables: ↑ stands at the lowest values of each row and ↓ at the highest, and nowhere else
ascending      table, columns: the values of each row ascend in this order
repeats        table, of: its cell (row "A B", column C) is that of table of[C] at row A, column B
scores         summaries, scores, final: Papík's model gives the printed scores, cell by cell
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.papers.finding import Outcome
from feedbench.papers.interval import half_unit
from feedbench.papers.scores import METRICS, FiveNumbers, Scores, score
from feedbench.papers.study import BEST, WORST, Paper, PublishedTable, Row

# The rows of a printed five-number summary, by what they are in FiveNumbers.
METRIC_ROWS = {"maximum": "Maximum", "q3": "Q3", "median": "Median", "q1": "Q1", "minimum": "Minimum"}
WHISKER_IQRS = Decimal("1.5")

Ran = tuple[Outcome, str, tuple[str, ...]]


@dataclass(frozen=True)
class TableCheck:
    """`parameters`: all of them are needed."""

    parameters: frozenset[str]
    run: Callable[[Mapping[str, Any], Paper], Ran]


@dataclass(frozen=True)
class Recomputed:
    """A printed cell and what its sources give."""

    row: str
    column: str
    printed: Decimal
    computed: Decimal

    @property
    def agrees(self) -> bool:
        return self.printed == self.computed


def recomputed_scores(parameters: Mapping[str, Any], paper: Paper) -> dict[str, list[Recomputed]]:
    """By the table that is recomputed: the scores per metric, then the final ones."""
    result = _score(parameters, paper)
    scores, final = paper.table(parameters["scores"]), paper.table(parameters["final"])
    computed_final = {next(iter(final.labels)): result.final}
    computed_metrics = {METRIC_ROWS[metric]: values for metric, values in result.metrics.items()}
    return {
        table.id: [
            Recomputed(label, column, printed, _of(computed, label, column, paper))
            for label, row in table.by_label().items()
            for column, printed in row.items()
        ]
        for table, computed in ((scores, computed_metrics), (final, computed_final))
    }


def recomputed_places(parameters: Mapping[str, Any], paper: Paper) -> Mapping[str, int]:
    """The place of each contender by its final score, 1 for the best."""
    return _score(parameters, paper).places


def _score(parameters: Mapping[str, Any], paper: Paper) -> Scores:
    try:
        return score({name: _summaries(paper.table(name), paper) for name in parameters["summaries"]})
    except ValueError as error:
        raise FeedbenchError(str(error), where=paper.path) from error


def _of(computed: Mapping[str, Mapping[str, Decimal]], label: str, column: str, paper: Paper) -> Decimal:
    try:
        return computed[label][column]
    except KeyError as error:
        raise FeedbenchError(f"nothing is computed for {label}, {column}", where=paper.path) from error


def _summaries(table: PublishedTable, paper: Paper) -> dict[str, FiveNumbers]:
    rows = _metric_rows(table, paper)
    return {
        column: FiveNumbers(**{metric: rows[METRIC_ROWS[metric]][column] for metric in METRICS})
        for column in table.columns
    }


def _metric_rows(table: PublishedTable, paper: Paper) -> dict[str, Row]:
    rows = table.by_label()
    lacking = next((row for row in METRIC_ROWS.values() if row not in rows), None)
    if lacking:
        raise FeedbenchError(f'table "{table.id}" has no row {lacking}', where=paper.path)
    return rows


def _scores(parameters: Mapping[str, Any], paper: Paper) -> Ran:
    tables = recomputed_scores(parameters, paper)
    cells = [cell for cells in tables.values() for cell in cells]
    where = _where(paper, [*parameters["summaries"], *tables])
    odd = [
        f"{cell.row} of {cell.column}: {cell.computed} computed, {cell.printed} printed"
        for cell in cells
        if not cell.agrees
    ]
    return _verdict(odd, f"{len(cells)} of {len(cells)} cells are equal", where)


def _per_table(odd_in: Callable[[PublishedTable, Paper], Iterator[str]], good: str) -> TableCheck:
    """A check of the tables named in its parameter `tables`."""

    def run(parameters: Mapping[str, Any], paper: Paper) -> Ran:
        tables = [paper.table(name) for name in parameters["tables"]]
        odd = [text for table in tables for text in odd_in(table, paper)]
        return _verdict(odd, good, tuple(table.where for table in tables))

    return TableCheck(frozenset({"tables"}), run)


def _disordered(table: PublishedTable, paper: Paper) -> Iterator[str]:
    for column, numbers in _summaries(table, paper).items():
        for (upper, above), (lower, below) in pairwise((name, getattr(numbers, name)) for name in METRICS):
            if above < below:
                yield f"{column}: {METRIC_ROWS[upper]} {above} is below {METRIC_ROWS[lower]} {below}"


def _whiskers(parameters: Mapping[str, Any], paper: Paper) -> Ran:
    table = paper.table(parameters["table"])
    odd = list(_beyond_fences(table, parameters["columns"], paper))
    return _verdict(odd, "all ends lie within 1.5 × IQR of the box", (table.where,))


def _beyond_fences(table: PublishedTable, columns: Sequence[str], paper: Paper) -> Iterator[str]:
    """A whisker ends at the outermost value within 1.5 box lengths of the box. The box was rounded when it
    was printed; the ends are themselves data, in whole units of the print.
    """
    rows = _metric_rows(table, paper)
    for column in columns:
        row = {metric: _value(rows[name], column, table, paper) for metric, name in METRIC_ROWS.items()}
        reach = WHISKER_IQRS * (row["q3"] - row["q1"])
        # Each quartile may be off by half a unit, which moves the box's end and its length.
        doubt = half_unit(row["q3"]) * (1 + 2 * WHISKER_IQRS)
        low, high = row["q1"] - reach, row["q3"] + reach
        # An end of a rounded interval is itself rounded away from it.
        if row["maximum"] >= high + doubt:
            yield f"{column}: the maximum {row['maximum']} lies beyond {row['q3']} + 1.5 × IQR = {high}"
        if row["minimum"] <= low - doubt:
            yield f"{column}: the minimum {row['minimum']} lies beyond {row['q1']} − 1.5 × IQR = {low}"


def _mismarked(table: PublishedTable, _: Paper) -> Iterator[str]:
    for label, row in table.by_label().items():
        lowest, highest = min(row.values()), max(row.values())
        for column, value in row.items():
            due = BEST if value == lowest else WORST if value == highest else ""
            printed = table.marks.get((label, column), "")
            if printed != due:
                yield f"{label} of {column}, {value}: {printed or 'no arrow'} printed, {due or 'none'} due"


def _ascending(parameters: Mapping[str, Any], paper: Paper) -> Ran:
    table, columns = paper.table(parameters["table"]), parameters["columns"]
    odd = []
    for label, row in table.by_label().items():
        for lower, upper in pairwise(columns):
            below, above = _value(row, lower, table, paper), _value(row, upper, table, paper)
            if below > above:
                odd.append(f"{label}: {lower} {below} is above {upper} {above}")
    return _verdict(odd, f"all {len(table.rows)} rows ascend", (table.where,))


def _repeats(parameters: Mapping[str, Any], paper: Paper) -> Ran:
    table, sources = paper.table(parameters["table"]), parameters["of"]
    odd, count = [], 0
    for label, row in table.by_label().items():
        name, _, measure = label.rpartition(" ")
        for column, value in row.items():
            if column not in sources:
                raise FeedbenchError(f'"of" lacks {column}', where=paper.path)
            source = paper.table(sources[column])
            origin = _value(source.by_label().get(name, {}), measure, source, paper)
            count += 1
            if value != origin:
                odd.append(f"{label} {column}: {value} is {origin} in {source.where}")
    return _verdict(odd, f"{count} of {count} cells are equal", _where(paper, [table.id, *sources.values()]))


def _value(row: Row, column: str, table: PublishedTable, paper: Paper) -> Decimal:
    if column not in row:
        raise FeedbenchError(f'there is no such cell "{column}" in table "{table.id}"', where=paper.path)
    return row[column]


def _verdict(odd: Sequence[str], good: str, where: tuple[str, ...]) -> Ran:
    return (Outcome.FAILS, "; ".join(odd), where) if odd else (Outcome.HOLDS, good, where)


def _where(paper: Paper, tables: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paper.table(name).where for name in tables))


TABLE_CHECKS: Mapping[str, TableCheck] = {
    "five_numbers": _per_table(_disordered, "all columns ascend"),
    "whiskers": TableCheck(frozenset({"table", "columns"}), _whiskers),
    "marks": _per_table(_mismarked, "every arrow stands where it is due"),
    "ascending": TableCheck(frozenset({"table", "columns"}), _ascending),
    "repeats": TableCheck(frozenset({"table", "of"}), _repeats),
    "scores": TableCheck(frozenset({"summaries", "scores", "final"}), _scores),
}
