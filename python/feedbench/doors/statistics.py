"""The measures of the paper's section 4.4, each by the definition that it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from feedbench.doors.record import LatencyRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERCENTILES = {"p25": 25.0, "p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}


@dataclass(frozen=True)
class Group:
    """The records of one protocol and event type."""

    protocol: str
    event_type: str


@dataclass(frozen=True)
class Summary:
    """Milliseconds, but for count, moments and throughput. None where too few values give none.

    `std_ms` has n − 1 below it, as pandas has it; the moments are of the whole, as the paper prints them:
    skewness E[(x − μ)³]/σ³, excess kurtosis E[(x − μ)⁴]/σ⁴ − 3. Percentiles are interpolated linearly, as
    numpy's and pandas' are, since these are the paper's tables; our own quantiles are observed values.
    """

    count: int
    mean_ms: float
    std_ms: float | None
    percentiles_ms: dict[str, float]
    iqr_ms: float
    mad_ms: float
    skewness: float | None
    excess_kurtosis: float | None
    throughput_per_s: float | None


def by_group(records: Sequence[LatencyRecord]) -> dict[Group, list[LatencyRecord]]:
    """Records by protocol and event type, groups in the order of their names."""
    groups: dict[Group, list[LatencyRecord]] = {}
    for record in records:
        groups.setdefault(Group(record.protocol, record.event_type), []).append(record)
    return dict(sorted(groups.items(), key=lambda item: (item[0].protocol, item[0].event_type)))


def summarise(records: Sequence[LatencyRecord]) -> Summary:
    """Of one group; ValueError from no records."""
    if not records:
        raise ValueError("no records to summarise")
    values = np.array([record.latency_ms for record in records], dtype=np.float64)
    stamps = [record.timestamp_ns for record in records]
    median = float(np.median(values))
    percentiles = {name: float(np.percentile(values, rank)) for name, rank in PERCENTILES.items()}
    skewness, kurtosis = _moments(values)
    return Summary(
        count=len(values),
        mean_ms=float(values.mean()),
        std_ms=float(values.std(ddof=1)) if len(values) > 1 else None,
        percentiles_ms=percentiles,
        iqr_ms=percentiles["p75"] - percentiles["p25"],
        mad_ms=float(np.median(np.abs(values - median))),
        skewness=skewness,
        excess_kurtosis=kurtosis,
        throughput_per_s=_throughput(len(values), max(stamps) - min(stamps)),
    )


def _moments(values: NDArray[np.float64]) -> tuple[float | None, float | None]:
    sigma = float(values.std())
    # Equal values differ from their mean by its rounding, which has no shape.
    if sigma <= 1e-12 * float(np.abs(values).max()):
        return None, None
    standard = (values - values.mean()) / sigma
    return float(np.mean(standard**3)), float(np.mean(standard**4)) - 3


def _throughput(count: int, span_ns: int) -> float | None:
    """count / time_span, the span being that from the first record to the last."""
    return count / (span_ns / 1e9) if span_ns > 0 else None
