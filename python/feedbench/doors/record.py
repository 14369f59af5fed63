"""What Grandhi and Yadagiri (2026) store of each message: eight fields, as CSV and as Parquet (section
4.3).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Literal

import duckdb

from feedbench.errors import RunDirectoryError

Protocol = Literal["REST", "WebSocket", "FIX"]
PROTOCOLS: tuple[Protocol, ...] = ("FIX", "REST", "WebSocket")  # in the order of the paper's tables

# The types in Parquet; the names are the paper's.
COLUMN_TYPES = {
    "timestamp_ns": "BIGINT",
    "protocol": "VARCHAR",
    "provider": "VARCHAR",
    "symbol": "VARCHAR",
    "event_type": "VARCHAR",
    "server_time_ns": "BIGINT",
    "latency_ms": "DOUBLE",
    "rtt_ms": "DOUBLE",
}


@dataclass(frozen=True)
class LatencyRecord:
    """One message. Its `latency_ms` is another quantity in each protocol (METHODOLOGY.md, "Doors").

    `timestamp_ns` is the local monotonic clock when the message was complete; `event_type` is `ticker`,
    `time` or `rtt`; `server_time_ns` is Unix time by the exchange's clock, None where there is none;
    `rtt_ms` is None for WebSocket.
    """

    timestamp_ns: int
    protocol: Protocol
    provider: str
    symbol: str
    event_type: str
    server_time_ns: int | None
    latency_ms: float
    rtt_ms: float | None


FIELDS = tuple(each.name for each in fields(LatencyRecord))


def write_csv(path: Path, records: Iterable[LatencyRecord]) -> None:
    """With a head; what is None stands empty. Milliseconds keep every digit, so reading gives the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(astuple(record) for record in records)


def write_parquet(path: Path, csv_path: Path) -> None:
    """The records of `csv_path` as Parquet, with their types."""
    with duckdb.connect() as connection:
        _relation(connection, csv_path).write_parquet(str(path), compression="zstd")


def read_records(path: Path) -> list[LatencyRecord]:
    """From `results.csv` or `results.parquet`; RunDirectoryError when it is something else."""
    try:
        with duckdb.connect() as connection:
            if path.suffix == ".parquet":
                relation = connection.read_parquet(str(path)).project(", ".join(FIELDS))
            else:
                relation = _relation(connection, path)
            rows: Sequence[tuple[object, ...]] = relation.fetchall()
    except duckdb.Error as error:
        raise RunDirectoryError(
            f"these are no latency records: {str(error).splitlines()[0]}",
            where=str(path),
            hint=f"the columns are {', '.join(FIELDS)}",
        ) from error
    return [LatencyRecord(*row) for row in rows]  # type: ignore[arg-type]  # duckdb checked the types


def _relation(connection: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    return connection.from_csv_auto(
        str(path), header=True, delimiter=",", quotechar='"', columns=dict(COLUMN_TYPES)
    )
