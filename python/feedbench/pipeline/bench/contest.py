"""Versions of the same computation in turns, each time in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.pipeline.ingest import SeriesFiles, ingested
from feedbench.pipeline.run import Options, study_series
from feedbench.pipeline.study import Study

NS_PLACES = 6  # of a ms
VERSIONS = ("pipeline", "straightforward", "straightforward, regular expression")


@dataclass(frozen=True)
class Turn:
    """One run of one version. `quantiles` by client: common events, then as in straightforward.SHARES."""

    version: str
    seconds: float
    peak_bytes: int
    quantiles: dict[str, list[float]]


@dataclass(frozen=True)
class Contest:
    turns: tuple[Turn, ...]

    def seconds(self, version: str) -> list[float]:
        return [turn.seconds for turn in self.turns if turn.version == version]

    def ratio(self, version: str) -> float:
        """How many times as long `version` takes as the pipeline: the median of its rounds' ratios."""
        pairs = zip(self.seconds(version), self.seconds("pipeline"), strict=True)
        return median(slow / fast for slow, fast in pairs)


def quantiles_of(study: Study) -> dict[str, list[float]]:
    """By client, as in straightforward.SHARES."""
    found = {}
    for each in study.exchanges[0].series:
        if each.summary is None:
            raise FeedbenchError(f"{each.series} has no event that all have")
        ends, named = each.summary.box_ms.extremes, each.summary.quantiles_ms
        numbers = (ends.minimum, ends.q1, ends.median, ends.q3, named["p99"], named["p99.99"], ends.maximum)
        found[each.series.client] = [float(each.account.common), *map(float, numbers)]
    return found


def contest(folder: Path, rounds: int) -> Contest:
    """On the series below `folder`; the order changes from round to round. FeedbenchError when a version
    fails, or they don't agree to the nanosecond.
    """
    turns = [
        _turn(version, folder)
        for number in range(rounds)
        for version in (VERSIONS if number % 2 == 0 else VERSIONS[::-1])
    ]
    odd = next((turn for turn in turns if turn.quantiles != turns[0].quantiles), None)
    if odd:
        raise FeedbenchError(
            f"the two versions differ: {turns[0].quantiles} and {odd.quantiles}", where=str(folder)
        )
    return Contest(tuple(turns))


def _turn(version: str, folder: Path) -> Turn:
    done = subprocess.run(
        [sys.executable, "-m", __name__, version, str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise FeedbenchError(f"{version} ended with status {done.returncode}: {done.stderr[-500:]}")
    document: dict[str, Any] = json.loads(done.stdout)
    return Turn(version, **document)


def _run(version: str, folder: Path) -> dict[str, Any]:
    """In the process of its own: the clock runs from the files to the numbers, without starting Python."""
    files = ingested(folder)
    begun = time.perf_counter()
    if version == "pipeline":
        quantiles = _pipeline(files)
    else:
        quantiles = _straightforward(files, as_json=version == "straightforward")
    seconds = time.perf_counter() - begun
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Interpolation leaves other errors in the last bits of each version.
    rounded = {client: [round(value, NS_PLACES) for value in values] for client, values in quantiles.items()}
    return {"seconds": seconds, "peak_bytes": peak_bytes, "quantiles": rounded}


def _pipeline(files: list[SeriesFiles]) -> dict[str, list[float]]:
    with TemporaryDirectory(dir=files[0].parts[0].parents[3]) as scratch:
        study = study_series(files, Path(scratch) / "study.duckdb", Options())
    return quantiles_of(study)


def _straightforward(files: list[SeriesFiles], *, as_json: bool) -> dict[str, list[float]]:
    # polars is for tests and benchmarks only, and not in the other process.
    from feedbench.pipeline.bench.straightforward import common_quantiles

    return common_quantiles({each.series.client: each.parts for each in files}, as_json=as_json)


if __name__ == "__main__":
    print(json.dumps(_run(sys.argv[1], Path(sys.argv[2]))))
