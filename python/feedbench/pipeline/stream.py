"""What an exchange's stream is made of, by looking at the first messages that one client received."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from feedbench.pipeline.dialect import Dialect, dialect
from feedbench.pipeline.ingest import SeriesFiles

TYPES_TOLD = 5
LOOK_AT = 10_000


@dataclass(frozen=True)
class Stream:
    """`types` of messages, the most frequent first; `markets` is None where messages do not name theirs. Both
    are of the first `of` messages.
    """

    types: tuple[str, ...]
    markets: int | None
    of: int


def streams(files: Sequence[SeriesFiles], database: duckdb.DuckDBPyConnection) -> dict[str, Stream]:
    """By exchange, of its first series that has messages."""
    found: dict[str, Stream] = {}
    for each in files:
        name = each.series.exchange
        if each.parts and name not in found:
            found[name] = look(each.parts[0], dialect(name), database)
    return found


def look(part: Path, rules: Dialect, database: duckdb.DuckDBPyConnection) -> Stream:
    """At one Parquet file of messages, and always at the same ones."""
    some = f"(SELECT payload FROM read_parquet(?, file_row_number = true) WHERE file_row_number < {LOOK_AT})"
    names = database.execute(
        f"SELECT {rules.type_name('payload')} AS type, count(*) FROM {some} GROUP BY type "
        "ORDER BY count(*) DESC, type",
        [str(part)],
    ).fetchall()
    row = database.execute(
        f"SELECT count(DISTINCT {rules.market('payload')}) FROM {some}", [str(part)]
    ).fetchone()
    return Stream(
        types=tuple(name for name, _ in names[:TYPES_TOLD]),
        markets=row[0] or None if row else None,
        of=sum(count for _, count in names),
    )
