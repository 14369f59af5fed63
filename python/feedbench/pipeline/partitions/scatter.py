"""Some of a client's messages as events, in the folders of their exchange and of their hash's first bits.

A file of DuckDB's own kind takes one writer at a time; Parquet files take as many as there are. A hash is in
two halves there, because Parquet has no whole number of 128 bits.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb

from feedbench.pipeline.common import HASH_BITS
from feedbench.pipeline.deliveries import load_deliveries, open_memory
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.partitions.split import Chunk, prefix_name
from feedbench.pipeline.partitions.task import Place
from feedbench.pipeline.series import EXCHANGE_KEY, Series
from feedbench.pipeline.tally import Tally, tallies
from feedbench.typed_json import to_json

PREFIX_KEY = "prefix="
LOWER_HALF = 2**64 - 1

SCATTER = f"""
COPY (
    SELECT {{series}}::USMALLINT AS series, number, age_ms,
        (hash >> 64)::UBIGINT AS hash_high, (hash & {LOWER_HALF})::UBIGINT AS hash_low,
        (hash >> {{shift}})::USMALLINT AS prefix
    FROM deliveries WHERE age_ms IS NOT NULL
) TO '{{folder}}' (FORMAT parquet, COMPRESSION lz4, PARTITION_BY (prefix))
"""
COUNTED = "SELECT file_name, num_rows FROM parquet_file_metadata(?)"


@dataclass(frozen=True)
class Scattering:
    """`prefix_bits` tell the partitions of all exchanges apart."""

    chunk: Chunk
    prefix_bits: int


@dataclass(frozen=True)
class EventFile:
    """Events of one series and one prefix. `path` is below the folder of events."""

    prefix: int
    path: str
    events: int


@dataclass(frozen=True)
class Scattered:
    files: tuple[EventFile, ...]
    tally: Tally


def scatter(job: Scattering, place: Place, spill: Path) -> dict[str, Any]:
    """A Scattered, as JSON. Done twice it leaves the same files."""
    chunk = job.chunk
    # The client's name means nothing here: its series has a number.
    files = SeriesFiles(Series(chunk.exchange, "any"), tuple(map(Path, chunk.paths)), None, None)
    with closing(open_memory(spill, memory_bytes=place.memory(), threads=place.cpus())) as database:
        load_deliveries([files], database, lambda _: None)
        (tally,) = tallies([files], database)
        written = spill / "written"
        written.mkdir()
        statement = SCATTER.format(
            series=chunk.series,
            shift=HASH_BITS - job.prefix_bits,
            folder=str(written).replace("'", "''"),
        )
        if tally.events:
            database.execute(statement)
        moved = tuple(_moved(written, job, place.events, database))
    return dict(to_json(Scattered(moved, tally)))


def partition_folder(exchange: str, prefix: int, bits: int) -> Path:
    """Below the folder of events, in the layout that DuckDB and others call Hive partitioning."""
    return Path(f"{EXCHANGE_KEY}{quote(exchange)}") / f"{PREFIX_KEY}{prefix_name(prefix, bits)}"


def _moved(
    written: Path, job: Scattering, events: Path, database: duckdb.DuckDBPyConnection
) -> Sequence[EventFile]:
    """By renames on the same disk, so that a file in its place is whole."""
    found = []
    for folder in sorted(written.iterdir()):
        prefix = int(folder.name.removeprefix(PREFIX_KEY))
        place = partition_folder(job.chunk.exchange, prefix, job.prefix_bits)
        (events / place).mkdir(parents=True, exist_ok=True)
        sources = sorted(folder.glob("*.parquet"))
        counts = dict(database.execute(COUNTED, [[str(source) for source in sources]]).fetchall())
        for number, source in enumerate(sources):
            path = place / f"{job.chunk.name}-{number}.parquet"
            source.replace(events / path)
            found.append(EventFile(prefix, str(path), int(counts[str(source)])))
    shutil.rmtree(written)
    return found
