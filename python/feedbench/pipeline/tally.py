"""What a series' messages add up to, in whole numbers, so that adding up its parts' tallies loses nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import duckdb

from feedbench.pipeline.ages import Ages, ages_of
from feedbench.pipeline.dialect import dialect
from feedbench.pipeline.ingest import SeriesFiles

Key = TypeVar("Key")

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
AGES = "SELECT series, age_ms, count(*) FROM deliveries WHERE age_ms IS NOT NULL GROUP BY ALL"


@dataclass(frozen=True)
class Tally:
    """Messages and, of these, `events`. `ages_ms`: how many events had each age, whether others have them or
    not. `left_out`: messages without an event time, by what they call themselves. Without messages the times
    are None.
    """

    messages: int = 0
    events: int = 0
    first_unix_ms: int | None = None
    last_unix_ms: int | None = None
    payload_bytes: int = 0
    smallest_bytes: int | None = None
    largest_bytes: int | None = None
    ages_ms: tuple[tuple[int, int], ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()

    def ages(self) -> Ages | None:
        """None where there is no event."""
        return ages_of(dict(self.ages_ms)) if self.events else None


def least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def greatest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def added(tallies: Sequence[Tally]) -> Tally:
    """Of parts that have no message in common, in any order."""
    return Tally(
        messages=sum(each.messages for each in tallies),
        events=sum(each.events for each in tallies),
        first_unix_ms=least(each.first_unix_ms for each in tallies),
        last_unix_ms=greatest(each.last_unix_ms for each in tallies),
        payload_bytes=sum(each.payload_bytes for each in tallies),
        smallest_bytes=least(each.smallest_bytes for each in tallies),
        largest_bytes=greatest(each.largest_bytes for each in tallies),
        ages_ms=tuple(sorted(summed([dict(each.ages_ms) for each in tallies]).items())),
        left_out=tuple(sorted(summed([dict(each.left_out) for each in tallies]).items())),
    )


def summed(counts: Sequence[Mapping[Key, int]]) -> Counter[Key]:
    """How often each was counted in all."""
    total: Counter[Key] = Counter()
    for each in counts:
        total.update(each)
    return total


def tallies(files: Sequence[SeriesFiles], database: duckdb.DuckDBPyConnection) -> list[Tally]:
    """Of each series in the table `deliveries`, whose numbers are the places in `files`."""
    totals = {row[0]: row[1:] for row in database.execute(TOTALS).fetchall()}
    ages: dict[int, list[tuple[int, int]]] = {}
    for number, age_ms, count in database.execute(AGES).fetchall():
        ages.setdefault(number, []).append((age_ms, count))
    found = []
    for number, each in enumerate(files):
        if number not in totals:
            found.append(Tally())
            continue
        messages, events, first, last, payload, smallest, largest = totals[number]
        left_out = _left_out(number, each, database) if messages > events else ()
        counted = tuple(sorted(ages.get(number, ())))
        found.append(Tally(messages, events, first, last, payload, smallest, largest, counted, left_out))
    return found


def _left_out(
    number: int, files: SeriesFiles, database: duckdb.DuckDBPyConnection
) -> tuple[tuple[str, int], ...]:
    query = TYPES.format(type=dialect(files.series.exchange).type_name("payload"))
    rows = database.execute(query, [[str(part) for part in files.parts], number]).fetchall()
    return tuple(sorted((str(type), int(count)) for type, count in rows))
