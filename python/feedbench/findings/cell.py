"""One cell: a target under one set of conditions, over all its usable blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from feedbench.findings.comparison import Interval
from feedbench.plan import Copy, FactorValue

WarmupClass = Literal["flat", "warmup", "slowdown", "no_steady_state"]
# count, min, max, mean and quantiles, as quantiles.summarize gives them; None: too few messages behind it.
Latencies = Mapping[str, float | None]


@dataclass(frozen=True)
class Estimate:
    """A value over blocks: their median, and two of them around it as interval. None: too few blocks."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class CellFinding:
    """Shares are 0…1; `percentile_curve` is (share, ns); a line of `per_block` has the block's number, its
    quantiles and its rate. `offered_per_s` is the rate of an open loop; None where the answers set the pace.
    """

    cell: str
    target: str
    copy: Copy | None
    factors: Mapping[str, FactorValue]
    verdicts: Mapping[str, int]
    causes: tuple[str, ...]
    blocks: int
    round_trips_per_s: Estimate
    latency_ns: Latencies
    latency_from_send_ns: Latencies
    per_block: tuple[Mapping[str, float | None], ...]
    percentile_curve: tuple[tuple[float, int], ...]
    cpu_ns_per_message: Estimate
    memory_per_connection_bytes: int | None
    rss_connected_bytes: int | None
    ceiling_share: float | None
    generator_bound: bool
    warmup_class: WarmupClass
    options: Mapping[str, str]
    version: str | None
    toolchain: str | None
    sent: int
    received: int
    lost: int
    duplicated: int
    out_of_order: int
    wrong: int
    offered_per_s: float | None = None
