"""What became of each message that a client recorded: nothing is left out without being counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from feedbench.pipeline.common import Common
from feedbench.pipeline.dialect import NOT_JSON, dialect
from feedbench.pipeline.ingest import SeriesFiles

TYPES_TOLD = 8


@dataclass(frozen=True)
class LeftOut:
    """Messages without an event time, by what they call themselves."""

    type: str
    messages: int


@dataclass(frozen=True)
class Account:
    """`events` have an event time; of these, `repeated` say what this client was told before, word for word
    (the paper's unique key loses them), and `common` are those that all clients of the exchange received.
    Times are None without messages; `duration_ms` counts only while a file was written.
    """

    messages: int
    events: int
    repeated: int
    common: int
    left_out: tuple[LeftOut, ...]
    connections: int | None
    first_unix_ms: int | None
    last_unix_ms: int | None
    duration_ms: int | None
    payload_bytes: int
    smallest_bytes: int
    largest_bytes: int

    @property
    def per_second(self) -> float | None:
        return self.messages * 1000 / self.duration_ms if self.duration_ms else None


TOTALS = """
SELECT series, count(*), count(age_ms), min(received_unix_ms), max(received_unix_ms),
       sum(bytes)::BIGINT, min(bytes), max(bytes)
FROM deliveries GROUP BY series
"""
# Of the rows that are no events only, read once more from Parquet.
TYPES = """
SELECT {type}, count(*) FROM read_parquet(?) SEMI JOIN
    (SELECT number FROM deliveries WHERE series = ? AND age_ms IS NULL) USING (number)
GROUP BY ALL
"""


def accounts(
    files: Sequence[SeriesFiles],
    common: Mapping[int, Common],
    database: duckdb.DuckDBPyConnection,
) -> list[Account]:
    """Of each series, in order; `common` by its number."""
    totals = {row[0]: row[1:] for row in database.execute(TOTALS).fetchall()}
    found = []
    for number, each in enumerate(files):
        messages, events, first, last, *sizes = totals.get(number, (0, 0, None, None, 0, 0, 0))
        found.append(
            Account(
                messages=messages,
                events=events,
                repeated=common[number].repeated,
                common=common[number].ages.count,
                left_out=_left_out(number, each, database) if messages > events else (),
                connections=each.connections,
                first_unix_ms=first,
                last_unix_ms=last,
                duration_ms=last - first if each.duration_ms is None and messages else each.duration_ms,
                payload_bytes=sizes[0],
                smallest_bytes=sizes[1],
                largest_bytes=sizes[2],
            )
        )
    return found


def _left_out(number: int, files: SeriesFiles, database: duckdb.DuckDBPyConnection) -> tuple[LeftOut, ...]:
    """What is no JSON, then the most frequent types; the rest together."""
    query = TYPES.format(type=dialect(files.series.exchange).type_name("payload"))
    rows = database.execute(query, [[str(part) for part in files.parts], number]).fetchall()
    ordered = sorted(
        (LeftOut(type, count) for type, count in rows),
        key=lambda each: (each.type != NOT_JSON, -each.messages),
    )
    rest = sum(each.messages for each in ordered[TYPES_TOLD:])
    return (*ordered[:TYPES_TOLD], *([LeftOut("others", rest)] if rest else []))
