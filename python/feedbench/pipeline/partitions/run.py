"""A study in parts, in order: files to chunks, chunks to partitions, partitions to ages, ages to a study."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from feedbench.errors import FeedbenchError
from feedbench.pipeline.assemble import assemble, by_exchange
from feedbench.pipeline.common import MOST_CLIENTS, Common
from feedbench.pipeline.dialect import dialect
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.part import Part, parts_of
from feedbench.pipeline.partitions.crew import Crew, crew_of
from feedbench.pipeline.partitions.gather import Gathered, Partition, gather, summed_up
from feedbench.pipeline.partitions.order import CrewOrder
from feedbench.pipeline.partitions.scatter import Scattered, Scattering, scatter
from feedbench.pipeline.partitions.split import chunks, prefix_bits, prefix_name
from feedbench.pipeline.partitions.task import Effort, Place, Task, attempts_of, result_of
from feedbench.pipeline.progress import Say, Stage, quiet, silent
from feedbench.pipeline.stream import Stream, streams
from feedbench.pipeline.study import Study
from feedbench.pipeline.tally import Tally, added
from feedbench.pipeline.trouble import explained
from feedbench.typed_json import from_json

FOLDER = "partitions"


@dataclass(frozen=True)
class Work:
    """What it took. `repeated` are the tasks that more than one worker began, `peak_bytes` by worker."""

    tasks: int
    repeated: tuple[str, ...]
    peak_bytes: Mapping[str, int]


def study_in_parts(
    files: Sequence[SeriesFiles],
    folder: Path,
    order: CrewOrder,
    *,
    one_clock: bool = False,
    stage: Stage = quiet,
    say: Say = silent,
) -> tuple[Study, Work]:
    """From Parquet, in the order of series; leaves events/ in `folder`, replacing that of an earlier call.

    FeedbenchError when a file is damaged, there is no room, or the workers are lost.
    """
    for numbers in by_exchange(files):
        dialect(files[numbers[0]].series.exchange)
        if len(numbers) > MOST_CLIENTS:
            raise FeedbenchError(
                f"{len(numbers)} clients at one exchange are too many", hint=f"at most {MOST_CLIENTS}"
            )
    place = _place(folder.resolve(), order)
    files = [replace(each, parts=tuple(part.resolve() for part in each.parts)) for each in files]
    with explained(str(folder)):
        for stale in (place.events, place.work):
            shutil.rmtree(stale, ignore_errors=True)
        place.work.mkdir(parents=True)
        try:
            with crew_of(order, place.work / "dask", say) as crew:
                crew.check(place)
                return _study(files, place, crew, stage, one_clock=one_clock)
        finally:
            shutil.rmtree(place.work, ignore_errors=True)


def _place(folder: Path, order: CrewOrder) -> Place:
    if order.cluster:
        return Place(folder, order.duckdb_bytes())
    cpus = len(os.sched_getaffinity(0))
    machine = Place(folder).memory() // order.workers
    return Place(folder, order.duckdb_bytes() or machine, max(1, cpus // order.workers))


def _study(
    files: Sequence[SeriesFiles], place: Place, crew: Crew, stage: Stage, *, one_clock: bool
) -> tuple[Study, Work]:
    parts, seen = _looked(files)
    scattering = _scattering(files, parts, place)
    with stage("partitioning", sum(task.size for task in scattering)) as progress:
        efforts = crew.perform(scattering, place, progress)
    scattered = {task.name: from_json(Scattered, result_of(task, place)) for task in scattering}
    tallies = _tallies(len(files), scattering, scattered)
    gathering = list(_gathering(files, scattering, scattered))
    with stage("common events", sum(task.size for task in gathering)) as progress:
        efforts += crew.perform(gathering, place, progress)
    common = _common(len(files), gathering, place)
    study = assemble(files, tallies, common, seen, one_clock=one_clock)
    return study, _work([*scattering, *gathering], efforts, place)


def _looked(files: Sequence[SeriesFiles]) -> tuple[list[list[Part]], dict[str, Stream]]:
    """By this process: a look at the ends of all files, and at the first messages of each exchange."""
    with closing(duckdb.connect()) as database:
        return [parts_of(each, database) for each in files], streams(files, database)


def _scattering(files: Sequence[SeriesFiles], parts: Sequence[Sequence[Part]], place: Place) -> list[Task]:
    messages = [sum(part.messages for part in each) for each in parts]
    most = max((sum(messages[number] for number in numbers) for numbers in by_exchange(files)), default=0)
    bits = prefix_bits(most, memory_bytes=place.memory())
    return [
        Task(f"scatter-{chunk.name}", chunk.messages, scatter, Scattering(chunk, bits))
        for number, each in enumerate(files)
        for chunk in chunks(number, each.series.exchange, parts[number], memory_bytes=place.memory())
    ]


def _tallies(series: int, tasks: Sequence[Task], scattered: Mapping[str, Scattered]) -> list[Tally]:
    own: list[list[Tally]] = [[] for _ in range(series)]
    for task in tasks:
        own[task.job.chunk.series].append(scattered[task.name].tally)
    return [added(each) for each in own]


def _gathering(
    files: Sequence[SeriesFiles], tasks: Sequence[Task], scattered: Mapping[str, Scattered]
) -> Iterator[Task]:
    """A task for each partition that has any event."""
    for numbers in by_exchange(files):
        own = [task for task in tasks if task.job.chunk.series in numbers]
        by_prefix = sorted(
            ((file.prefix, file) for task in own for file in scattered[task.name].files),
            key=lambda each: (each[0], each[1].path),
        )
        for prefix in sorted({prefix for prefix, _ in by_prefix}):
            name = f"gather-{numbers[0]:03}-{prefix_name(prefix, own[0].job.prefix_bits)}"
            held = tuple(file for each, file in by_prefix if each == prefix)
            partition = Partition(name, numbers[0], numbers[-1], held)
            yield Task(name, partition.events, gather, partition)


def _common(series: int, tasks: Sequence[Task], place: Place) -> dict[int, Common]:
    parts = [from_json(Gathered, document) for task in tasks for document in result_of(task, place)["series"]]
    return {number: summed_up(number, parts) for number in range(series)}


def _work(tasks: Sequence[Task], efforts: Sequence[Effort], place: Place) -> Work:
    peaks: dict[str, int] = {}
    for effort in efforts:
        peaks[effort.worker] = max(peaks.get(effort.worker, 0), effort.peak_bytes)
    repeated = tuple(task.name for task in tasks if len(attempts_of(task, place)) > 1)
    return Work(len(tasks), repeated, peaks)
