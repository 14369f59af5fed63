"""The answer to one question, with all that vouches for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from feedbench.findings.comparison import ControlFinding, Decision, Interval, Margin, SentinelFinding
from feedbench.plan import FactorValue
from feedbench.typed_json import named

Quantity = Literal["round_trip", "event_age", "polled_age"]


@dataclass(frozen=True)
class LatencyEstimate:
    """A latency over blocks: their median, and two of them around it as interval. None: too few blocks."""

    value_ns: float | None
    interval_ns: Interval | None


@dataclass(frozen=True)
class Ranked:
    """One line of a ranking; `estimates` by quantile; `label` is the target or `factor=value`."""

    label: str
    target: str
    cell: str
    rank: tuple[int, int]
    tier: int
    probability_first: float
    estimates: Mapping[str, LatencyEstimate]


@dataclass(frozen=True)
class DroppedBlock:
    """A block beyond a gate's limit; None for value and limit when its environment was not recorded."""

    block: int
    gate: str
    value: float | None
    limit: float | None


@dataclass(frozen=True)
class GateFinding:
    name: str
    passed: bool
    blocks_failed: int
    worst: float
    limit: float
    text: str


@dataclass(frozen=True, kw_only=True)
class QuestionFinding:
    """`withheld` says why there is no ranking; `fixed` may hold a target beside factors; margins and
    estimates by quantile.
    """

    id: str
    text: str
    fixed: Mapping[str, FactorValue]
    compare: str
    quantiles: tuple[str, ...]
    blocks_used: int
    blocks_dropped: tuple[DroppedBlock, ...]
    ranking: tuple[Ranked, ...]
    decisions: tuple[Decision, ...]
    sentinel: SentinelFinding | None
    control: ControlFinding | None
    gates: tuple[GateFinding, ...]
    quantity: Quantity = "round_trip"
    withheld: str | None = field(metadata=named("ranking_withheld"))
    margins: Mapping[str, Margin] = field(metadata=named("margin"))
