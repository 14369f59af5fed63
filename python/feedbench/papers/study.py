"""One study as data: what is printed where, what is to be checked, and what is known to be wrong.

Every number is read as a decimal, so that its printed precision is known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.papers.finding import Outcome
from feedbench.paths import SCHEMA
from feedbench.suggest import nearest

# Of the tables of load tests, whose rows are checked by themselves. A table with `label` has its own columns.
COLUMNS = (
    "clients",
    "total_messages",
    "average_ms",
    "min_ms",
    "max_ms",
    "throughput_per_s",
    "throughput_per_client_per_s",
    "rounds",
    "added_clients",
    "requests_per_client",
    "total_requests",
    "connection_s",
    "request_min",
    "last_round",
    "lost_share_percent",
)
BEST, WORST = "↑", "↓"

Row = Mapping[str, Decimal]


@dataclass(frozen=True)
class PublishedTable:
    """`where` it is printed; each row by column name. `labels` name the rows of a table whose first column
    is words; `marks` are the arrows printed beside its cells, by (label, column). `target`: ours for what the
    table is about, where there is one.
    """

    id: str
    where: str
    rows: tuple[Row, ...]
    title: str = ""
    label: str = ""
    labels: tuple[str, ...] = ()
    marks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    exact: bool = False  # counted or chosen, not rounded
    target: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def by_label(self) -> dict[str, Row]:
        return dict(zip(self.labels, self.rows, strict=True))


@dataclass(frozen=True)
class Statement:
    """A figure that stands in the text. `value` is None when the study owes it; `exact`: counted or chosen,
    not rounded.
    """

    where: str
    text: str
    value: Decimal | datetime | None
    unit: str
    exact: bool


@dataclass(frozen=True)
class CheckRequest:
    """A named check with its parameters, and what is known to come out: for a failure also by which numbers
    (`shows`), for all names of `for_each` or by name.
    """

    kind: str
    claim: str
    meaning: str
    expected: Outcome
    shows: str | Mapping[str, str]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class KnownFailure:
    """A row that breaks one of the laws that every row is held to, and what that means."""

    table: str
    row: int
    check: str
    shows: str
    meaning: str


@dataclass(frozen=True)
class Defect:
    """What arithmetic can't see, and the scenario that measures what it does."""

    text: str
    experiment: str | None


@dataclass(frozen=True)
class Paper:
    """`in_flight` messages per client, None unless its clients waited for answers (a closed loop)."""

    name: str
    title: str
    source: str
    in_flight: int | None
    duration_s: Decimal | None
    tables: tuple[PublishedTable, ...]
    defects: tuple[Defect, ...]
    statements: Mapping[str, Statement] = field(default_factory=dict)
    checks: tuple[CheckRequest, ...] = ()
    known_failures: tuple[KnownFailure, ...] = ()
    path: str = ""

    def table(self, name: str) -> PublishedTable:
        """FeedbenchError when there is none of that name."""
        found = next((table for table in self.tables if table.id == name), None)
        if found is None:
            raise FeedbenchError(
                f'there is no table "{name}"',
                where=self.path,
                hint=nearest(name, (table.id for table in self.tables)),
            )
        return found


def read_paper(path: Path) -> Paper:
    """FeedbenchError when the file is missing, is no TOML, or has something that can't be read."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise FeedbenchError(f"cannot read it: {error.strerror}", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FeedbenchError(f"this is no TOML: {error}", where=str(path)) from error
    if document.get("schema") != SCHEMA:
        raise FeedbenchError(f"its schema is {document.get('schema')}, not {SCHEMA}", where=str(path))
    try:
        return _paper(document, path)
    except (KeyError, TypeError, AttributeError, ValueError, InvalidOperation) as error:
        raise FeedbenchError(
            f"{error} is missing or unreadable", where=str(path), hint="see papers/"
        ) from error


def _paper(document: Mapping[str, Any], path: Path) -> Paper:
    return Paper(
        name=document["name"],
        title=document["title"],
        source=document["source"],
        in_flight=document["in_flight"] if document["loop"] == "closed" else None,
        duration_s=_decimal(document["duration_s"]) if "duration_s" in document else None,
        tables=tuple(_table(table, path) for table in document["tables"]),
        defects=tuple(
            Defect(entry["text"], entry.get("experiment")) for entry in document.get("defects", [])
        ),
        statements={entry["id"]: _statement(entry) for entry in document.get("statements", [])},
        checks=tuple(_check(entry) for entry in document.get("checks", [])),
        known_failures=tuple(KnownFailure(**entry) for entry in document.get("known_failures", [])),
        path=str(path),
    )


def _statement(entry: Mapping[str, Any]) -> Statement:
    value = entry.get("value")
    if ("value" in entry) == entry.get("unprinted", False):
        raise ValueError(f"either the value or unprinted = true of statement {entry['id']}")
    return Statement(
        where=entry["where"],
        text=entry["text"],
        value=value if value is None or isinstance(value, datetime) else _decimal(value),
        unit=entry.get("unit", ""),
        exact=entry.get("exact", False),
    )


def _check(entry: Mapping[str, Any]) -> CheckRequest:
    own = {"check", "claim", "meaning", "expected", "shows"}
    expected = Outcome(entry.get("expected", Outcome.HOLDS))
    # A failure that fails otherwise than we know would pass for the known one.
    if (expected is Outcome.FAILS) != ("shows" in entry):
        raise ValueError(f"what “{entry['claim']}” shows (of a check that is expected to fail, only)")
    return CheckRequest(
        kind=entry["check"],
        claim=entry["claim"],
        meaning=entry["meaning"],
        expected=expected,
        shows=entry.get("shows", ""),
        parameters={name: value for name, value in entry.items() if name not in own},
    )


def _table(document: Mapping[str, Any], path: Path) -> PublishedTable:
    name, columns = document["id"], document["columns"]
    label = document.get("label", "")
    unknown = None if label else next((name for name in columns if name not in COLUMNS), None)
    if unknown is not None:
        raise FeedbenchError(
            f'unknown column "{unknown}" in table "{name}"', where=str(path), hint=nearest(unknown, COLUMNS)
        )
    rows, labels, marks = [], [], {}
    for number, row in enumerate(document["rows"], start=1):
        words, cells = (row[0], row[1:]) if label else ("", row)
        if len(cells) != len(columns):
            raise FeedbenchError(
                f'row {number} of table "{name}" has {len(cells)} values for {len(columns)} columns',
                where=str(path),
            )
        printed = {column: _cell(cell) for column, cell in zip(columns, cells, strict=True)}
        rows.append({column: value for column, (value, _) in printed.items()})
        if label:
            labels.append(str(words))
            marks.update({(str(words), column): mark for column, (_, mark) in printed.items() if mark})
    if len(set(labels)) < len(labels):
        raise FeedbenchError(f'two rows of table "{name}" have the same name', where=str(path))
    return PublishedTable(
        id=name,
        where=document["where"],
        rows=tuple(rows),
        title=document.get("title", ""),
        label=label,
        labels=tuple(labels),
        marks=marks,
        exact=document.get("exact", False),
        target=document.get("target", ""),
    )


def _cell(value: Any) -> tuple[Decimal, str]:
    """A number, or a number with an arrow: "178 ↓"."""
    if isinstance(value, str) and value[-2:] in (f" {BEST}", f" {WORST}"):
        return Decimal(value[:-2]), value[-1]
    return _decimal(value), ""


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TypeError(f"a number instead of {value!r}")
    return Decimal(value)
