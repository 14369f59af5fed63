"""`make bench-pipeline`: the paper's size alone, then a size that polars has room for, in turns with it."""

from __future__ import annotations

import resource
import shutil
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import psutil
import typer

from feedbench.cli.common import say
from feedbench.cli.pipeline import progress_stage
from feedbench.errors import FeedbenchError
from feedbench.feed.stamps import HEAD, Kind
from feedbench.paths import Project
from feedbench.pipeline.bench.contest import VERSIONS, contest, quantiles_of
from feedbench.pipeline.bench.generate import CLIENTS, generate
from feedbench.pipeline.ingest import ingest, ingested
from feedbench.pipeline.run import Options, study_series
from feedbench.pipeline.source import find_sources
from feedbench.pipeline.stamps import FILE_HEADER
from feedbench.units import format_duration

# Each connector's messages from Binance, Table 7.
PAPER_EVENTS = 34_497_111
SIDE_BY_SIDE_EVENTS = 2_000_000
STAMPS = 500_000
MOST_SECONDS, MOST_BYTES, LEAST_RATIO = 300, 10_000_000_000, 3
# Parquet and database, and as much again for what DuckDB puts aside.
DISK_BYTES_PER_EVENT = 120


def main(
    events: Annotated[int, typer.Option(help="For each of the six clients.")] = PAPER_EVENTS,
    side_by_side: Annotated[
        int, typer.Option(help="The same, beside polars; 0 leaves it out.")
    ] = SIDE_BY_SIDE_EVENTS,
    rounds: Annotated[int, typer.Option(min=1, help="How often each version has its turn.")] = 3,
    folder: Annotated[
        Path | None, typer.Option(help="Default: .feedbench/bench-pipeline, removed afterwards.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the generated events for another time.")] = False,
) -> None:
    """Prints how long it took, the memory, and the ratio; status 1 if the paper's size misses a bound."""
    place = folder or Project.find().scratch / "bench-pipeline"
    good = True
    try:
        if events:
            good = _alone(place / str(events), events)
        if side_by_side:
            good = _beside(place / str(side_by_side), side_by_side, rounds) and good
            _reading(place)
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
    if not good:
        raise typer.Exit(1)


def _alone(folder: Path, events: int) -> bool:
    _generate(folder, events)
    begun = time.perf_counter()
    study = study_series(ingested(folder), folder / "study.duckdb", Options(), progress_stage)
    seconds = time.perf_counter() - begun
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for client, (common, *ages) in quantiles_of(study).items():
        say(f"{client}: {common:,.0f} common events, ages {', '.join(f'{age:g}' for age in ages)} ms")
    per_s = len(CLIENTS) * events / seconds
    print(
        f"{len(CLIENTS)} × {events:,} events: {format_duration(int(seconds * 1e9))}, "
        f"{per_s / 1e6:.2f} million events/s, at most {peak_bytes / 1e9:.1f} GB of memory"
    )
    good = seconds <= MOST_SECONDS and peak_bytes <= MOST_BYTES
    if not good:
        say(f"more than {MOST_SECONDS} s or {MOST_BYTES / 1e9:g} GB")
    return good


def _beside(folder: Path, events: int, rounds: int) -> bool:
    _generate(folder, events)
    say(f"{len(CLIENTS)} × {events:,} events, {rounds} turns each …")
    result = contest(folder, rounds)
    for version in VERSIONS:
        times = ", ".join(f"{seconds:.2f}" for seconds in result.seconds(version))
        peak_bytes = max(turn.peak_bytes for turn in result.turns if turn.version == version)
        print(f"{version}: {times} s, at most {peak_bytes / 1e9:.1f} GB of memory")
    for version in VERSIONS[1:]:
        print(f"the pipeline is {result.ratio(version):.2f} times as fast as polars and hashlib, {version}")
    return result.ratio("straightforward") >= LEAST_RATIO


def _reading(folder: Path) -> None:
    """How fast a client's own file becomes Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    stamps = folder / "python@binance.stamps"
    payload = b'{"stream":"btcusdt@trade","data":{"e":"trade","E":1596232800000,"s":"BTCUSDT","t":370684729}}'
    head = np.array([(1, 1596232800080, len(payload), Kind.TEXT, 0)], dtype=HEAD)
    record = head.tobytes() + payload
    stamps.write_bytes(FILE_HEADER + record * STAMPS)
    begun = time.perf_counter()
    ingest(find_sources([str(stamps)]), folder / "read", lambda _: None)
    print(f"stamps to Parquet: {STAMPS / (time.perf_counter() - begun) / 1e6:.2f} million messages/s")


def _generate(folder: Path, events: int) -> None:
    needed, there = len(CLIENTS) * events * DISK_BYTES_PER_EVENT, _free_bytes(folder)
    if there < needed:
        raise FeedbenchError(
            f"{needed / 1e9:.0f} GB of disk are needed and {there / 1e9:.0f} GB are free",
            where=str(folder),
            hint="--folder on another disk, or fewer --events",
        )
    with progress_stage("generating", len(CLIENTS) * events) as progress:
        generate(folder, events, progress)


def _free_bytes(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return int(psutil.disk_usage(str(folder)).free)


if __name__ == "__main__":
    typer.run(main)
