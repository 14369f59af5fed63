"""What one client received, from whichever sink it wrote."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import RunDirectoryError
from feedbench.feed.ledger import Keys, keys_of_payloads
from feedbench.feed.stamps import Ending, read_stamps
from feedbench.samples import Nanoseconds

# Sinks that leave a record, and how its file's name ends.
SUFFIXES: Mapping[str, str] = {"stamps": ".stamps", "sqlite": ".sqlite", "sqlite_behind": ".sqlite"}


@dataclass(frozen=True)
class Received:
    """Messages in the order of receipt: when, and their keys. `killed`: the client left without a word.

    `lengths` are those of the messages as they were handed over, where the record tells.
    """

    received_ns: Nanoseconds
    keys: Keys
    killed: bool
    lengths: NDArray[np.uint32] | None = None


def read_received(path: Path, sink: str) -> Received:
    """RunDirectoryError when the file is missing, damaged or no such sink's."""
    return _of_stamps(path) if sink == "stamps" else _of_sqlite(path)


def _of_stamps(path: Path) -> Received:
    stamps = read_stamps(path)
    return Received(
        received_ns=stamps.heads["received_ns"][stamps.is_message],
        keys=keys_of_payloads(stamps.payloads()),
        killed=stamps.ending is not Ending.ENDED,
        lengths=stamps.heads["bytes"][stamps.is_message],
    )


def _of_sqlite(path: Path) -> Received:
    """The study's table says nothing of how its client ended."""
    if not path.is_file():
        raise RunDirectoryError("the client left no database", where=str(path))
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = connection.execute("SELECT received_ns, event FROM events ORDER BY event_id").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise RunDirectoryError(f"the database can't be read: {error}", where=str(path)) from error
    payloads = (event if isinstance(event, bytes) else event.encode() for _, event in rows)
    received_ns = np.fromiter((received_ns for received_ns, _ in rows), dtype=np.uint64, count=len(rows))
    return Received(received_ns, keys_of_payloads(payloads), killed=False)
