"""Reads SQLite files of Papík's schema, as our clients write them or as his did (spec/feed.md)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from struct import unpack_from

import numpy as np

from feedbench.errors import FeedbenchError
from feedbench.pipeline.batch import MESSAGES, Batch, Connected, Reading, texts
from feedbench.pipeline.problem import Problem

MAGIC = b"SQLite format 3\0"
# Where the file's first page tells the size of a page and the number of pages (sqlite.org/fileformat2).
PAGE_BYTES_AT, PAGES_AT, HEADER_BYTES = 16, 28, 100
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)

Row = tuple[int | None, int, str]


@dataclass(frozen=True)
class TestDetails:
    """The row that a client writes at its start."""

    vps_id: str
    connector_id: str
    exchange_id: str
    stream_id: str


def read_details(path: Path) -> TestDetails | None:
    """Of the first start; None when the file does not tell any more."""
    try:
        with closing(_open(path)) as database:
            row = database.execute(
                "SELECT vps_id, connector_id, exchange_id, stream_id FROM test_details ORDER BY test_id"
            ).fetchone()
    except sqlite3.DatabaseError:
        return None
    return TestDetails(*map(str, row)) if row else None


def read_sqlite(path: Path) -> Reading:
    """Every row that can be read, in order. SQLite finds damage only where it steps on it, so a file that is
    shorter than it says is told to be cut short even where all that is left could be read.
    """
    rows: list[Row] = []
    count, damage = 0, None
    try:
        with closing(_open(path)) as database:
            for _ in database.execute("SELECT test_id FROM test_details"):
                yield Connected()
            for row in database.execute(_events_query(database, path)):
                if None in row[1:]:
                    damage = "a row without time or text"
                    break
                rows.append(row)
                count += 1
                if len(rows) == MESSAGES:
                    yield _batch(rows)
                    rows = []
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in DAMAGE:
            raise FeedbenchError(f"SQLite cannot read it: {error}", where=str(path)) from error
        damage = str(error)
    if rows:
        yield _batch(rows)
    missing = _missing_bytes(path)
    if missing and not damage:
        damage = "no message is known to be lost"
    if damage:
        what = f"lacks {missing:,} of the bytes that it says it has" if missing else "is damaged"
        yield Problem("cut_short", f"{path} {what} ({damage}); {count:,} messages could be read")


def _open(path: Path) -> sqlite3.Connection:
    """For reading only. A write-ahead log beside the file is part of it."""
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    # Else SQLite does not even begin to read a file that is shorter than its header says.
    database.execute("PRAGMA writable_schema=ON")
    database.text_factory = lambda content: content.decode(errors="backslashreplace")
    return database


def _events_query(database: sqlite3.Connection, path: Path) -> str:
    columns = {row[1] for row in database.execute("PRAGMA table_info(events)")}
    if not {"event_id", "datetime_received", "event"} <= columns:
        raise FeedbenchError(
            "there is no table events(event_id, datetime_received, event)",
            where=str(path),
            hint="spec/feed.md has the schema",
        )
    ns = "received_ns" if "received_ns" in columns else "NULL"
    # The study's own schema has text in its integer columns.
    received = "CAST(datetime_received AS INTEGER)"
    return f"SELECT {ns}, {received}, CAST(event AS TEXT) FROM events ORDER BY event_id"


def _batch(rows: list[Row]) -> Batch:
    monotonic = [row[0] for row in rows]
    return Batch(
        received_ns=None if None in monotonic else np.array(monotonic, dtype=np.int64),
        received_unix_ms=np.array([row[1] for row in rows], dtype=np.int64),
        payloads=texts([row[2] for row in rows]),
    )


def _missing_bytes(path: Path) -> int:
    """How much shorter the file is than its first page says; 0 while a write-ahead log waits beside it."""
    if path.with_name(f"{path.name}-wal").exists():
        return 0
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    page_bytes = unpack_from(">H", header, PAGE_BYTES_AT)[0]
    pages: int = unpack_from(">I", header, PAGES_AT)[0]
    return max(0, pages * (65536 if page_bytes == 1 else page_bytes) - path.stat().st_size)
