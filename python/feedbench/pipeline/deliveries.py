"""All messages of a study as one DuckDB table: what they are by, when they came, how old they were.

`deliveries` (one row a message): `series` (a number in the table `series`), `number` (of receipt), `bytes`,
`received_unix_ms`, `age_ms`, `hash`: the MD5 of what identifies the event, as a number of 128 bits. The last
two are NULL for what is no event. Papík kept 18 tables, and the MD5 as text of 32 characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from feedbench.pipeline.dialect import dialect
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.progress import Progress

PARTS_AT_ONCE = 4  # enough for all cores to have work, few enough for a bar that moves

TABLES = """
CREATE OR REPLACE TABLE series (series USMALLINT, exchange VARCHAR, client VARCHAR);
CREATE OR REPLACE TABLE deliveries (series USMALLINT, number BIGINT, bytes UINTEGER, received_unix_ms BIGINT,
                                    age_ms BIGINT, hash UHUGEINT);
"""


def open_database(path: Path, *, memory_bytes: int, threads: int) -> duckdb.DuckDBPyConnection:
    """A database at `path`, replacing one that is there; what does not fit in memory goes beside it."""
    for stale in (path, path.with_name(f"{path.name}.wal")):
        stale.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return _connect(str(path), Path(f"{path}.spill"), memory_bytes, threads)


def open_memory(spill: Path, *, memory_bytes: int, threads: int) -> duckdb.DuckDBPyConnection:
    """A database in memory; what does not fit goes to the folder `spill`."""
    return _connect(":memory:", spill, memory_bytes, threads)


def _connect(name: str, spill: Path, memory_bytes: int, threads: int) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        name,
        config={
            "memory_limit": f"{memory_bytes // 2**20}MiB",
            "threads": threads,
            # Rows carry their own order.
            "preserve_insertion_order": False,
            "temp_directory": str(spill),
        },
    )


def load_deliveries(
    files: Sequence[SeriesFiles], database: duckdb.DuckDBPyConnection, progress: Progress
) -> None:
    """Fills the tables; the series' numbers are their places in `files`."""
    database.execute(TABLES)
    for number, each in enumerate(files):
        database.execute(
            "INSERT INTO series VALUES (?, ?, ?)", [number, each.series.exchange, each.series.client]
        )
        select = _select(number, each)
        for first in range(0, len(each.parts), PARTS_AT_ONCE):
            parts = [str(part) for part in each.parts[first : first + PARTS_AT_ONCE]]
            row = database.execute(f"INSERT INTO deliveries {select}", [parts]).fetchone()
            progress(row[0] if row else 0)


def _select(number: int, files: SeriesFiles) -> str:
    rules = dialect(files.series.exchange)
    messages = "SELECT number, received_unix_ms, payload FROM read_parquet(?, hive_partitioning = false)"
    return f"""
        SELECT {number}, number, strlen(payload), received_unix_ms, received_unix_ms - event_unix_ms,
               CASE WHEN event_unix_ms IS NOT NULL THEN md5_number({rules.identity("payload")}) END
        FROM ({rules.event_unix_ms(messages)})"""
