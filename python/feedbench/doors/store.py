"""The files of one campaign: the paper's `results.csv` and `summary.csv`, and beside them our own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feedbench.clock_offset.discipline import ClockDiscipline
from feedbench.clock_offset.estimate import OffsetEstimate, OneWay, estimate_offset, smaller
from feedbench.clock_offset.sample import ClockSample
from feedbench.collectors.observation import Collected, Observation
from feedbench.doors.clock_page import clock_document
from feedbench.doors.convert import Measured, middle, paper_records, quantities, time_records
from feedbench.doors.quantity import EVENT_AGE, HALF_ROUND_TRIP, QUANTITIES
from feedbench.doors.record import LatencyRecord, write_csv, write_parquet
from feedbench.doors.statistics import PERCENTILES, by_group, summarise
from feedbench.paths import SCHEMA, write_json

SUMMARY_HEAD = (
    "protocol",
    "event_type",
    "count",
    "mean_ms",
    "std_ms",
    *(f"{name}_ms" for name in PERCENTILES),
    "iqr_ms",
    "mad_ms",
    "skewness",
    "excess_kurtosis",
    "throughput_per_s",
)
QUANTITY_HEAD = ("door", "quantity", "count", "p50_ns", "p50_low_ns", "p50_high_ns", "p90_ns", "p99_ns")
LEAST_FOR_P99 = 368  # METHODOLOGY.md, "From samples to a decision"


@dataclass(frozen=True)
class Campaign:
    """What one campaign's collectors brought; `samples` are questions for the time, the first five before
    it.
    """

    provider: str
    symbol: str
    collected: tuple[Collected, ...]
    samples: tuple[ClockSample, ...]
    discipline: ClockDiscipline

    @property
    def observations(self) -> list[Observation]:
        return [seen for collector in self.collected for seen in collector.observations]

    @property
    def offset(self) -> OffsetEstimate | None:
        return estimate_offset(self.samples) if self.samples else None

    def records(self) -> list[LatencyRecord]:
        """The paper's, in the order of receipt, with its offset."""
        offset = self.offset
        records = list(paper_records(self.observations, offset.paper_offset_ns if offset else None))
        records += time_records(self.samples, self.provider, self.symbol)
        return sorted(records, key=lambda record: record.timestamp_ns)


def write_campaign(folder: Path, campaign: Campaign) -> None:
    """results.{csv,parquet} and summary.csv as in the paper; quantities.csv and collectors.json of our
    own.
    """
    records = campaign.records()
    write_csv(folder / "results.csv", records)
    write_parquet(folder / "results.parquet", folder / "results.csv")
    _write(folder / "summary.csv", SUMMARY_HEAD, [list(row.values()) for row in summary_rows(records)])
    measured = quantities(campaign.observations, campaign.offset)
    write_quantities(folder / "quantities.csv", measured)
    write_json(folder / "collectors.json", collectors_document(campaign, measured))


def summary_rows(records: Sequence[LatencyRecord]) -> list[dict[str, Any]]:
    """A row for each protocol and event type, in the columns of `SUMMARY_HEAD`."""
    rows = []
    for group, members in by_group(records).items():
        row = asdict(summarise(members)) | asdict(group)
        row |= {f"{name}_ms": value for name, value in row.pop("percentiles_ms").items()}
        rows.append({name: row[name] for name in SUMMARY_HEAD})
    return rows


def summary_document(campaign: Campaign) -> dict[str, Any]:
    """What `feedbench latency … --json` prints."""
    measured = quantities(campaign.observations, campaign.offset)
    return {**collectors_document(campaign, measured), "summary": summary_rows(campaign.records())}


def write_quantities(path: Path, measured: Sequence[Measured]) -> None:
    """A line for each door and quantity; `p50_low_ns` and `p50_high_ns` are what the clocks leave open."""
    rows = []
    for door in dict.fromkeys(each.door for each in measured):
        for quantity in QUANTITIES:
            values = [each.value for each in measured if (each.door, each.quantity) == (door, quantity)]
            if values:
                rows.append([door, quantity.name, len(values), *_line(values)])
    _write(path, QUANTITY_HEAD, rows)


def collectors_document(campaign: Campaign, measured: Sequence[Measured]) -> dict[str, Any]:
    """What the collectors met besides messages, and how well the exchange's clock is known."""
    return {
        "schema": SCHEMA,
        "provider": campaign.provider,
        "symbol": campaign.symbol,
        "collectors": {
            each.door: {"messages": len(each.observations), **asdict(each.tally)}
            for each in campaign.collected
        },
        "clock": clock_document(campaign.samples, campaign.discipline) if campaign.samples else None,
        "half_round_trip_of_rest_or_age_of_websocket": paper_order(measured),
    }


def paper_order(measured: Sequence[Measured]) -> str | None:
    """Whether REST's half round trip is less than WebSocket's age, as the paper ranks them: `rest`,
    `websocket`, `undecided` where the clocks leave it open, None without both.
    """
    rest = [each.value for each in measured if (each.door, each.quantity) == ("rest", HALF_ROUND_TRIP)]
    feed = [each.value for each in measured if (each.door, each.quantity) == ("websocket", EVENT_AGE)]
    if not rest or not feed:
        return None
    return {"first": "rest", "second": "websocket"}.get(smaller(middle(rest), middle(feed)), "undecided")


def _line(values: Sequence[OneWay]) -> list[float | None]:
    center = middle(values)
    low, high = (
        (None, None) if center.interval_ns is None else (center.interval_ns.low, center.interval_ns.high)
    )
    numbers = np.array([value.value_ns for value in values])
    p90, p99 = (float(np.quantile(numbers, q, method="inverted_cdf")) for q in (0.9, 0.99))
    return [center.value_ns, low, high, p90, p99 if len(values) >= LEAST_FOR_P99 else None]


def _write(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
