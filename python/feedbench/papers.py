"""Published tables as data (papers/*.toml), and the arithmetic that they pass or fail.

Every number is read as a decimal, so that its printed precision is known: 0.33 ms may have been 0.325 to
0.335.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from feedbench.analyze.impossible import Impossible, check_published
from feedbench.errors import FeedbenchError
from feedbench.paths import SCHEMA
from feedbench.suggest import nearest

COLUMNS = (
    "clients",
    "total_messages",
    "average_ms",
    "min_ms",
    "max_ms",
    "throughput_per_s",
    "throughput_per_client_per_s",
)
# Clocks stop a little after the stated duration, and whole messages are counted.
COUNT_TOLERANCE = Decimal("0.01")

Row = Mapping[str, Decimal]


@dataclass(frozen=True)
class PublishedTable:
    """`where` it is printed; each row by column name."""

    id: str
    where: str
    rows: tuple[Row, ...]


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


@dataclass(frozen=True)
class Verdict:
    """One check of one row; `broken` is empty when it passes."""

    table: str
    row: int
    check: str
    broken: str


def read_paper(path: Path) -> Paper:
    """FeedbenchError when the file is missing, is no TOML, or has a table that can't be read."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise FeedbenchError(f"cannot read it: {error.strerror}", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FeedbenchError(f"this is no TOML: {error}", where=str(path)) from error
    if document.get("schema") != SCHEMA:
        raise FeedbenchError(f"its schema is {document.get('schema')}, not {SCHEMA}", where=str(path))
    try:
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
        )
    except (KeyError, TypeError, ArithmeticError) as error:
        raise FeedbenchError(
            f"{error} is missing or unreadable", where=str(path), hint="see papers/"
        ) from error


def check_paper(paper: Paper) -> list[Verdict]:
    """Every check that its columns allow, on every row."""
    return [
        Verdict(table.id, number, check, broken)
        for table in paper.tables
        for number, row in enumerate(table.rows, start=1)
        for check, broken in _check_row(row, paper)
    ]


def _check_row(row: Row, paper: Paper) -> Iterator[tuple[str, str]]:
    """(check, what is broken or nothing)."""
    if paper.in_flight and {"clients", "average_ms", "throughput_per_s"} <= row.keys():
        yield (
            "littles_law",
            _said(
                check_published(
                    round_trips_per_s=float(row["throughput_per_s"]),
                    mean_latency_ns=float(row["average_ms"]) * 1e6,
                    clients=int(row["clients"]) * paper.in_flight,
                    rounding_ns=float(_half_unit(row["average_ms"])) * 1e6,
                )
            ),
        )
    if {"min_ms", "average_ms", "max_ms"} <= row.keys():
        low, mean, high = row["min_ms"], row["average_ms"], row["max_ms"]
        yield "order", "" if low <= mean <= high else f"the average {mean} ms lies outside {low} to {high} ms"
    if paper.duration_s and {"total_messages", "throughput_per_s"} <= row.keys():
        total, meant = row["total_messages"], row["throughput_per_s"] * paper.duration_s
        near = abs(total - meant) <= COUNT_TOLERANCE * total
        yield (
            "counts",
            "" if near else f"{total:,} messages are not {row['throughput_per_s']}/s × {paper.duration_s} s",
        )
    if {"clients", "throughput_per_s", "throughput_per_client_per_s"} <= row.keys():
        each, clients = row["throughput_per_client_per_s"], row["clients"]
        doubt = _half_unit(each) * clients + _half_unit(row["throughput_per_s"])
        near = abs(each * clients - row["throughput_per_s"]) <= doubt
        yield "per_client", "" if near else f"{clients} × {each}/s is not {row['throughput_per_s']}/s"


def _said(broken: Iterator[Impossible]) -> str:
    return "; ".join(law.text for law in broken)


def _half_unit(value: Decimal) -> Decimal:
    """Half a unit of the last printed place: 0.005 for 0.33. Zeros at the end were printed too."""
    exponent = value.as_tuple().exponent
    return Decimal(5).scaleb(int(exponent) - 1)


def _table(document: Mapping[str, Any], path: Path) -> PublishedTable:
    columns = document["columns"]
    unknown = next((name for name in columns if name not in COLUMNS), None)
    if unknown is not None:
        raise FeedbenchError(
            f'unknown column "{unknown}" in table "{document["id"]}"',
            where=str(path),
            hint=nearest(unknown, COLUMNS),
        )
    rows = []
    for number, row in enumerate(document["rows"], start=1):
        if len(row) != len(columns):
            raise FeedbenchError(
                f'row {number} of table "{document["id"]}" has {len(row)} values for {len(columns)} columns',
                where=str(path),
            )
        rows.append(dict(zip(columns, map(_decimal, row), strict=True)))
    return PublishedTable(document["id"], document["where"], tuple(rows))


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TypeError(f"a number instead of {value!r}")
    return Decimal(value)
