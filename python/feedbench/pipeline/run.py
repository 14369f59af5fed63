"""The pipeline in order: files, Parquet, deliveries, common events, ages, study."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import duckdb
import psutil

from feedbench.errors import FeedbenchError
from feedbench.pipeline.account import Account, accounts
from feedbench.pipeline.ages import Ages
from feedbench.pipeline.common import Common, all_ages, common_events
from feedbench.pipeline.deliveries import load_deliveries, open_database
from feedbench.pipeline.dialect import dialect
from feedbench.pipeline.ingest import Progress, SeriesFiles, ingest
from feedbench.pipeline.judge import coarse, series_problems, why_withheld
from feedbench.pipeline.problem import Problem
from feedbench.pipeline.source import Source
from feedbench.pipeline.stream import look
from feedbench.pipeline.study import ExchangeStudy, SeriesStudy, Study, summarize

SERIES_FOLDER, DATABASE = "series", "study.duckdb"
MEMORY_MOST, MEMORY_SHARE = 6 * 2**30, 0.5

# Opens a stage that will do so many messages, unknown when None.
Stage = Callable[[str, int | None], AbstractContextManager[Progress]]


def quiet(_: str, __: int | None) -> AbstractContextManager[Progress]:
    return nullcontext(lambda _: None)


@dataclass(frozen=True)
class Options:
    """`one_clock`: all clients ran on one host. `memory_bytes` is what DuckDB may take before it goes to
    disk, `threads` how many it starts; 0: by what the machine has.
    """

    one_clock: bool = False
    memory_bytes: int = 0
    threads: int = 0

    def memory(self) -> int:
        return self.memory_bytes or min(MEMORY_MOST, int(psutil.virtual_memory().total * MEMORY_SHARE))

    def cpus(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))


def run_pipeline(sources: Sequence[Source], out: Path, options: Options, stage: Stage = quiet) -> Study:
    """From clients' files to all that they show; leaves series/ and study.duckdb in `out`.

    FeedbenchError when a file is of no known form, its exchange is not known, or there is no room.
    """
    for source in sources:
        dialect(source.series.exchange)
    with stage("reading", None) as progress:
        files = ingest(sources, out / SERIES_FOLDER, progress)
    return study_series(files, out / DATABASE, options, stage)


def study_series(
    files: Sequence[SeriesFiles], database_path: Path, options: Options, stage: Stage = quiet
) -> Study:
    """From Parquet, in the order of series."""
    for each in files:
        dialect(each.series.exchange)
    try:
        with closing(
            open_database(database_path, memory_bytes=options.memory(), threads=options.cpus())
        ) as database:
            return _study(files, database, options, stage)
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise FeedbenchError(
            f"DuckDB has no room: {error}", where=str(database_path), hint="--out on a larger disk"
        ) from error


def _study(
    files: Sequence[SeriesFiles], database: duckdb.DuckDBPyConnection, options: Options, stage: Stage
) -> Study:
    total = _messages(files, database)
    with stage("events", total) as progress:
        load_deliveries(files, database, progress)
    each_all = all_ages(database)
    common: dict[int, Common] = {}
    events = sum(ages.count for ages in each_all.values())
    with stage("common events", events) as progress:
        for numbers in _by_exchange(files):
            common |= common_events(numbers, database, progress)
    told = accounts(files, common, database)
    problems = [problem for each in files for problem in each.problems]
    exchanges = []
    for numbers in _by_exchange(files):
        exchange, its_problems = _exchange(numbers, files, told, each_all, common, options, database)
        exchanges.append(exchange)
        problems += its_problems
    return Study(tuple(exchanges), tuple(problems), options.one_clock)


def _exchange(
    numbers: Sequence[int],
    files: Sequence[SeriesFiles],
    told: Sequence[Account],
    each_all: dict[int, Ages],
    common: dict[int, Common],
    options: Options,
    database: duckdb.DuckDBPyConnection,
) -> tuple[ExchangeStudy, list[Problem]]:
    problems = [
        problem
        for number in numbers
        for problem in series_problems(files[number].series, told[number], each_all.get(number))
    ]
    series = tuple(
        SeriesStudy(
            files[number].series,
            told[number],
            summarize(common[number].ages) if common[number].ages.count else None,
        )
        for number in numbers
    )
    name = files[numbers[0]].series.exchange
    first = next((part for number in numbers for part in files[number].parts), None)
    withheld = why_withheld(
        name,
        [each_all.get(number) for number in numbers],
        common[numbers[0]].ages.count,
        one_clock=options.one_clock,
    )
    medians = [each.summary.box_ms.extremes.median for each in series if each.summary is not None]
    near = coarse(name, [float(median) for median in medians])
    problems += [problem for problem in (withheld, near) if problem is not None]
    stream = look(first, dialect(name), database) if first else None
    return ExchangeStudy(name, stream, series, withheld.what if withheld else None), problems


def _by_exchange(files: Sequence[SeriesFiles]) -> Iterator[list[int]]:
    """The numbers of each exchange's series, which follow one another."""
    for _, group in groupby(range(len(files)), key=lambda number: files[number].series.exchange):
        yield list(group)


def _messages(files: Sequence[SeriesFiles], database: duckdb.DuckDBPyConnection) -> int:
    parts = [str(part) for each in files for part in each.parts]
    if not parts:
        return 0
    row = database.execute("SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(?)", [parts]).fetchone()
    return int(row[0]) if row else 0
