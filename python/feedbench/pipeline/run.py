"""The pipeline in order: files, Parquet, deliveries, common events, ages, study."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psutil

from feedbench.pipeline.assemble import assemble, by_exchange
from feedbench.pipeline.common import Common, common_events
from feedbench.pipeline.deliveries import load_deliveries, open_database
from feedbench.pipeline.dialect import dialect
from feedbench.pipeline.ingest import SeriesFiles, ingest
from feedbench.pipeline.part import parts_of
from feedbench.pipeline.partitions.order import CrewOrder
from feedbench.pipeline.partitions.run import FOLDER, study_in_parts
from feedbench.pipeline.progress import Say, Stage, quiet, silent
from feedbench.pipeline.source import Source
from feedbench.pipeline.stream import streams
from feedbench.pipeline.study import Study
from feedbench.pipeline.tally import tallies
from feedbench.pipeline.trouble import explained

SERIES_FOLDER, DATABASE = "series", "study.duckdb"
MEMORY_MOST, MEMORY_SHARE = 6 * 2**30, 0.5


@dataclass(frozen=True)
class Options:
    """`one_clock`: all clients ran on one host. `memory_bytes` is what DuckDB may take before it goes to
    disk, `threads` how many it starts; 0: by what the machine has. With a `crew` it is done in parts.
    """

    one_clock: bool = False
    memory_bytes: int = 0
    threads: int = 0
    crew: CrewOrder | None = None

    def memory(self) -> int:
        return self.memory_bytes or min(MEMORY_MOST, int(psutil.virtual_memory().total * MEMORY_SHARE))

    def cpus(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))


def run_pipeline(
    sources: Sequence[Source],
    out: Path,
    options: Options,
    stage: Stage = quiet,
    say: Say = silent,
) -> Study:
    """From clients' files to all that they show; leaves series/ in `out`, and study.duckdb or, of a crew,
    partitions/. `say` is told what the crew had to do again.

    FeedbenchError when a file is of no known form, its exchange is not known, or there is no room.
    """
    for source in sources:
        dialect(source.series.exchange)
    with stage("reading", None) as progress:
        files = ingest(sources, out / SERIES_FOLDER, progress)
    if options.crew is None:
        return study_series(files, out / DATABASE, options, stage)
    study, work = study_in_parts(
        files, out / FOLDER, options.crew, one_clock=options.one_clock, stage=stage, say=say
    )
    if work.repeated:
        say(f"workers were lost; {len(work.repeated)} of {work.tasks} parts of the work were done again")
    return study


def study_series(
    files: Sequence[SeriesFiles], database_path: Path, options: Options, stage: Stage = quiet
) -> Study:
    """From Parquet, in the order of series."""
    for each in files:
        dialect(each.series.exchange)
    with (
        explained(str(database_path)),
        closing(
            open_database(database_path, memory_bytes=options.memory(), threads=options.cpus())
        ) as database,
    ):
        return _study(files, database, options, stage)


def _study(
    files: Sequence[SeriesFiles], database: duckdb.DuckDBPyConnection, options: Options, stage: Stage
) -> Study:
    messages = sum(part.messages for each in files for part in parts_of(each, database))
    with stage("events", messages) as progress:
        load_deliveries(files, database, progress)
    told = tallies(files, database)
    common: dict[int, Common] = {}
    with stage("common events", sum(each.events for each in told)) as progress:
        for numbers in by_exchange(files):
            common |= common_events(numbers, database, progress)
    return assemble(files, told, common, streams(files, database), one_clock=options.one_clock)
