"""Clients' files as Parquet: one folder a series, its messages numbered in the order of receipt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from feedbench.errors import FeedbenchError
from feedbench.pipeline.batch import Batch, Connected
from feedbench.pipeline.problem import Problem
from feedbench.pipeline.progress import Progress
from feedbench.pipeline.series import Series
from feedbench.pipeline.source import Source


@dataclass(frozen=True)
class SeriesFiles:
    """A series as Parquet (number, received_ns, received_unix_ms, payload), and what its files told."""

    series: Series
    parts: tuple[Path, ...]
    connections: int | None  # None where the files don't tell
    duration_ms: int | None  # from first to last receipt, summed over its files; None where that is not known
    problems: tuple[Problem, ...] = ()


def ingest(sources: Sequence[Source], folder: Path, progress: Progress) -> list[SeriesFiles]:
    """Below `folder`, replacing what an earlier call left of the same series; in the order of names."""
    by_series: dict[Series, list[Source]] = {}
    for source in sources:
        by_series.setdefault(source.series, []).append(source)
    with duckdb.connect() as database:
        return [
            _ingest_series(series, files, series.folder(folder), database, progress)
            for series, files in sorted(by_series.items())
        ]


def ingested(folder: Path) -> list[SeriesFiles]:
    """What an earlier call, or somebody else, left below `folder`."""
    parts: dict[Series, list[Path]] = {}
    for path in sorted(folder.glob("*/*/*.parquet")):
        if series := Series.of_folder(path.parent):
            parts.setdefault(series, []).append(path)
    return [
        SeriesFiles(series, tuple(paths), connections=None, duration_ms=None)
        for series, paths in sorted(parts.items())
    ]


def _ingest_series(
    series: Series,
    sources: Sequence[Source],
    folder: Path,
    database: duckdb.DuckDBPyConnection,
    progress: Progress,
) -> SeriesFiles:
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.parquet"):
        stale.unlink()
    parts: list[Path] = []
    problems: list[Problem] = []
    connections = messages = duration_ms = 0
    for source in sources:
        first_ms = None
        for item in source.read():
            match item:
                case Batch():
                    first_ms = int(item.received_unix_ms[0]) if first_ms is None else first_ms
                    last_ms = int(item.received_unix_ms[-1])
                    parts.append(folder / f"{len(parts):05}.parquet")
                    _write(item, messages, parts[-1], database)
                    messages += len(item)
                    progress(len(item))
                case Connected():
                    connections += 1
                case Problem():
                    problems.append(Problem(item.kind, item.what, series))
        if first_ms is not None:
            duration_ms += last_ms - first_ms
    if not messages and all(problem.kind != "empty" for problem in problems):
        problems.append(Problem("empty", "there is no message in its files", series))
    return SeriesFiles(series, tuple(parts), connections or None, duration_ms, tuple(problems))


def _write(batch: Batch, first: int, path: Path, database: duckdb.DuckDBPyConnection) -> None:
    columns = {"received_unix_ms": batch.received_unix_ms, "payload": batch.payloads}
    received = "CAST(NULL AS BIGINT)"
    if batch.received_ns is not None:
        columns["received_ns"] = batch.received_ns
        received = "received_ns"
    database.register("batch", columns)
    try:
        database.execute(
            f"COPY (SELECT {first} + row_number() OVER () - 1 AS number, {received} AS received_ns, "
            "received_unix_ms, payload FROM batch) TO ? (FORMAT parquet, COMPRESSION lz4)",
            [str(path)],
        )
    except duckdb.IOException as error:
        raise FeedbenchError(f"cannot write: {error}", where=str(path), hint="is the disk full?") from error
    finally:
        database.unregister("batch")
