"""The Parquet files that a series' messages lie in, and how many are in each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from feedbench.pipeline.ingest import SeriesFiles


@dataclass(frozen=True)
class Part:
    path: Path
    messages: int


def parts_of(files: SeriesFiles, database: duckdb.DuckDBPyConnection) -> list[Part]:
    """As the ends of the files tell; duckdb.Error names one that has no end."""
    if not files.parts:
        return []
    query = "SELECT file_name, num_rows FROM parquet_file_metadata(?)"
    rows = dict(database.execute(query, [[str(part) for part in files.parts]]).fetchall())
    return [Part(part, int(rows[str(part)])) for part in files.parts]
