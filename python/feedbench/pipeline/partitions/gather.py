"""One exchange's events of one hash prefix: which ones all its clients have, and how old they were."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from feedbench.errors import FeedbenchError
from feedbench.pipeline.ages import ages_of
from feedbench.pipeline.common import Common, common_events
from feedbench.pipeline.deliveries import open_memory
from feedbench.pipeline.partitions.scatter import EventFile
from feedbench.pipeline.partitions.task import Place
from feedbench.pipeline.tally import summed
from feedbench.typed_json import to_json

EVENTS = """
CREATE TABLE deliveries AS
SELECT series, number, age_ms, hash_high::UHUGEINT << 64 | hash_low::UHUGEINT AS hash
FROM read_parquet(?, hive_partitioning = false)
"""


@dataclass(frozen=True)
class Partition:
    """`first` and `last` are the numbers of the exchange's series."""

    name: str
    first: int
    last: int
    files: tuple[EventFile, ...]

    @property
    def events(self) -> int:
        return sum(file.events for file in self.files)


@dataclass(frozen=True)
class Gathered:
    """Of one series, in one partition: ages of common events with their numbers, and how many repeat."""

    series: int
    ages_ms: tuple[tuple[int, int], ...]
    repeated: int


def gather(job: Partition, place: Place, spill: Path) -> dict[str, Any]:
    """The Gathered of each series, as JSON."""
    with closing(open_memory(spill, memory_bytes=place.memory(), threads=place.cpus())) as database:
        _load(job, place, database)
        found = common_events(range(job.first, job.last + 1), database, lambda _: None)
    return {"series": [to_json(_gathered(number, common)) for number, common in found.items()]}


def summed_up(series: int, parts: list[Gathered]) -> Common:
    """Of one series, over all partitions."""
    own = [part for part in parts if part.series == series]
    ages = summed([dict(part.ages_ms) for part in own])
    return Common(ages_of(ages), sum(part.repeated for part in own))


def _load(job: Partition, place: Place, database: duckdb.DuckDBPyConnection) -> None:
    database.execute(EVENTS, [[str(place.events / file.path) for file in job.files]])
    row = database.execute("SELECT count(*) FROM deliveries").fetchone()
    found = int(row[0]) if row else 0
    if found != job.events:
        raise FeedbenchError(
            f"{job.events:,} events were written to this partition, and {found:,} are there",
            where=f"{place.events} ({job.name})",
            hint="does anybody else write into this folder? Run it again",
        )


def _gathered(series: int, common: Common) -> Gathered:
    pairs = zip(common.ages.values_ms.tolist(), common.ages.counts.tolist(), strict=True)
    return Gathered(series, tuple(pairs), common.repeated)
