"""The events that all clients of an exchange received, and how old they were.

The paper joins on the MD5 alone, behind a unique key: an exchange that truly says the same twice loses one of
them. Here the n-th receipt of a text at one client belongs to the n-th at each other: a join on (hash,
occurrence). Numbering every row would mean sorting all of them, so it is done only for texts that some client
received more than once; all others have the one occurrence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from feedbench.errors import FeedbenchError
from feedbench.pipeline.ages import Ages, ages_of
from feedbench.pipeline.progress import Progress

ROWS_AT_ONCE = 30_000_000  # in one partition by hash: under 2 GB for the hash table
MOST_CLIENTS = 64  # bits of the mask that tells who received a text
HASH_BITS = 128

# Texts that all clients received, each a single time (`once`), and texts that somebody received repeatedly.
TEXTS = """
CREATE OR REPLACE TEMP TABLE texts AS
SELECT hash, count(*) = {clients} AND bit_or({bit}) = {everyone} AS once
FROM deliveries WHERE {rows} GROUP BY hash
HAVING bit_or({bit}) = {everyone} OR count(*) > bit_count(bit_or({bit}))
"""
AGES_OF_ONCE = """
SELECT series, age_ms, count(*) FROM deliveries SEMI JOIN (FROM texts WHERE once) USING (hash)
WHERE {rows} GROUP BY ALL
"""
NUMBERED = """
CREATE OR REPLACE TEMP TABLE numbered AS
SELECT series, age_ms, hash, row_number() OVER (PARTITION BY series, hash ORDER BY number) AS occurrence
FROM deliveries SEMI JOIN (FROM texts WHERE NOT once) USING (hash) WHERE {rows}
"""
AGES_OF_NUMBERED = """
SELECT series, age_ms, count(*) FROM numbered SEMI JOIN
    (SELECT hash, occurrence FROM numbered GROUP BY ALL HAVING count(*) = {clients}) USING (hash, occurrence)
GROUP BY ALL
"""
REPEATED = "SELECT series, count(*) FROM numbered WHERE occurrence > 1 GROUP BY ALL"


@dataclass(frozen=True)
class Common:
    """Of one series: the ages of the events that all clients have, and how many of all its events say what it
    was told before, word for word.
    """

    ages: Ages
    repeated: int


def common_events(
    numbers: Sequence[int], database: duckdb.DuckDBPyConnection, progress: Progress
) -> dict[int, Common]:
    """Of one exchange's series, by their (consecutive) numbers. FeedbenchError for more than 64."""
    if len(numbers) > MOST_CLIENTS:
        raise FeedbenchError(f"{len(numbers)} clients at one exchange are too many", hint="at most 64")
    of_series = f"series BETWEEN {numbers[0]} AND {numbers[-1]} AND age_ms IS NOT NULL"
    total = _count(database, of_series)
    partition_bits = max(0, math.ceil(math.log2(total / ROWS_AT_ONCE))) if total else 0
    counts: dict[int, dict[int, int]] = {number: {} for number in numbers}
    repeated = dict.fromkeys(numbers, 0)
    for partition in range(2**partition_bits):
        values = {
            "rows": _rows(of_series, partition, partition_bits),
            "clients": len(numbers),
            "everyone": 2 ** len(numbers) - 1,
            "bit": f"1::UBIGINT << (series - {numbers[0]})",
        }
        for statement in (TEXTS, NUMBERED):
            database.execute(statement.format(**values))
        for query in (AGES_OF_ONCE, AGES_OF_NUMBERED):
            for number, age_ms, count in database.execute(query.format(**values)).fetchall():
                counts[number][age_ms] = counts[number].get(age_ms, 0) + count
        for number, count in database.execute(REPEATED).fetchall():
            repeated[number] += count
        progress(total // 2**partition_bits)
    return {number: Common(ages_of(counts[number]), repeated[number]) for number in numbers}


def _rows(of_series: str, partition: int, partition_bits: int) -> str:
    """SQL that picks the texts whose hash begins with the bits of `partition`."""
    if not partition_bits:
        return of_series
    return f"{of_series} AND hash >> {HASH_BITS - partition_bits} = {partition}"


def _count(database: duckdb.DuckDBPyConnection, where: str) -> int:
    row = database.execute(f"SELECT count(*) FROM deliveries WHERE {where}").fetchone()
    return int(row[0]) if row else 0
