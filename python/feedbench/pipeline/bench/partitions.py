"""`make bench-partitions`: one process, then workers, on the same generated events; all must find the same.

Each version runs in a process of its own, one after the other; the clock runs from Parquet to the study, with
the start of the workers. Memory is the greatest of any one process.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from feedbench.cli.common import say
from feedbench.cli.pipeline import progress_stage
from feedbench.errors import FeedbenchError
from feedbench.paths import Project, write_json
from feedbench.pipeline.bench.generate import CLIENTS, generate
from feedbench.pipeline.ingest import ingested
from feedbench.pipeline.partitions.order import CrewOrder
from feedbench.pipeline.partitions.run import study_in_parts
from feedbench.pipeline.partitions.task import peak_bytes
from feedbench.pipeline.run import Options, study_series
from feedbench.units import format_duration, parse_size

# Also where this file is run as a program, and called otherwise.
MODULE = "feedbench.pipeline.bench.partitions"
TURN = "turn.json"
EVENTS = 5_000_000
# Generated events, partitions or database, and what is put aside.
DISK_BYTES_PER_EVENT = 200


@dataclass(frozen=True)
class Version:
    """`workers` 0 is the pipeline in one process."""

    name: str
    workers: int
    memory_limit_bytes: int = 0


@dataclass(frozen=True)
class Turn:
    """`sha256` is that of the whole study. `kept_bytes` is what lies on disk afterwards, beside the input."""

    seconds: float
    peak_bytes: int
    kept_bytes: int
    common: int
    sha256: str


def main(
    events: Annotated[int, typer.Option(min=1, help="For each of the six clients.")] = EVENTS,
    memory_limit: Annotated[str, typer.Option(help="Of each worker, in the last version.")] = "2GB",
    folder: Annotated[
        Path | None, typer.Option(help="Default: .feedbench/bench-partitions, removed afterwards.")
    ] = None,
) -> None:
    """Prints the time and the memory of each version; status 1 if two differ or a limit was not kept."""
    place = folder or Project.find().scratch / "bench-partitions"
    versions = (
        Version("one process", 0),
        Version("2 workers", 2),
        Version("4 workers", 4),
        Version(f"2 workers of {memory_limit}", 2, parse_size(memory_limit)),
    )
    try:
        _generate(place, events)
        turns = [_turn(version, place) for version in versions]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    _tell(events, versions, turns)


def _tell(events: int, versions: tuple[Version, ...], turns: list[Turn]) -> None:
    total = len(CLIENTS) * events
    print(f"{len(CLIENTS)} × {events:,} events, {turns[0].common:,} of them common")
    for version, turn in zip(versions, turns, strict=True):
        print(
            f"{version.name}: {format_duration(int(turn.seconds * 1e9))}, "
            f"{total / turn.seconds / 1e6:.2f} million events/s, "
            f"{turns[0].seconds / turn.seconds:.2f} times as fast as one process, "
            f"at most {turn.peak_bytes / 1e9:.2f} GB in a process, "
            f"{turn.kept_bytes / total:.0f} bytes/event kept on disk"
        )
    if len({turn.sha256 for turn in turns}) != 1:
        raise FeedbenchError("the versions do not find the same")
    print(f"all find the same study, to the last digit (sha256 {turns[0].sha256[:16]})")
    for version, turn in zip(versions, turns, strict=True):
        if 0 < version.memory_limit_bytes < turn.peak_bytes:
            raise FeedbenchError(f"{turn.peak_bytes / 1e9:.2f} GB in a process", where=version.name)


def _generate(place: Path, events: int) -> None:
    place.mkdir(parents=True, exist_ok=True)
    needed, there = len(CLIENTS) * events * DISK_BYTES_PER_EVENT, shutil.disk_usage(place).free
    if there < needed:
        raise FeedbenchError(
            f"{needed / 1e9:.1f} GB of disk are needed and {there / 1e9:.1f} GB are free",
            where=str(place),
            hint="--folder on another disk, or fewer --events",
        )
    with progress_stage("generating", len(CLIENTS) * events) as progress:
        generate(place / "series", events, progress)


def _turn(version: Version, place: Path) -> Turn:
    say(f"{version.name} …")
    words = [str(place), str(version.workers), str(version.memory_limit_bytes)]
    done = subprocess.run(
        [sys.executable, "-m", MODULE, "turn", *words], stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        raise FeedbenchError(f"it ended with status {done.returncode}", where=version.name)
    return Turn(**json.loads((place / TURN).read_text(encoding="utf-8")))


def _run(place: Path, workers: int, memory_limit_bytes: int) -> dict[str, Any]:
    """In the process of its own."""
    files, results = ingested(place / "series"), place / "results"
    begun = time.perf_counter()
    if workers:
        study, work = study_in_parts(files, results, CrewOrder(workers, memory_limit_bytes))
        peak = max(work.peak_bytes.values())
    else:
        study = study_series(files, results / "study.duckdb", Options())
        peak = peak_bytes()
    seconds = time.perf_counter() - begun
    kept = sum(path.stat().st_size for path in results.rglob("*") if path.is_file())
    shutil.rmtree(results)
    digest = hashlib.sha256(json.dumps(study.to_json(), sort_keys=True).encode()).hexdigest()
    return asdict(Turn(seconds, peak, kept, study.exchanges[0].series[0].account.common, digest))


if __name__ == "__main__":
    if sys.argv[1:2] == ["turn"]:
        # Not on stdout, which the workers' processes have, too.
        turn_place = Path(sys.argv[2])
        write_json(turn_place / TURN, _run(turn_place, int(sys.argv[3]), int(sys.argv[4])))
    else:
        try:
            typer.run(main)
        except FeedbenchError as error:
            sys.exit(f"feedbench: {error}")
