"""What a run found, as values, and their form in findings.json (spec/README.md, findings.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from feedbench.analyze.advice import Advice
from feedbench.analyze.decide import Comparison, Margin, Outcome
from feedbench.analyze.intervals import Interval
from feedbench.analyze.warmup import WarmupClass
from feedbench.paths import SCHEMA
from feedbench.plan import Copy, FactorValue

Summary = Mapping[str, Any]  # as quantiles.summarize returns it


@dataclass(frozen=True)
class Estimate:
    """A value over blocks: their median, and two of them around it as interval. None: too few blocks."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Ranked:
    """One line of a ranking; `estimates` in ns by quantile; `label` is the target or `factor=value`."""

    label: str
    target: str
    cell: str
    rank: tuple[int, int]
    tier: int
    probability_first: float
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True)
class Decision:
    """About two labels at one quantile; a ratio below 1 says that the first is faster."""

    pair: tuple[str, str]
    cells: tuple[str, str]
    quantile: str
    comparison: Comparison
    cliffs_delta: float | None

    @property
    def outcome(self) -> Outcome:
        return self.comparison.outcome


@dataclass(frozen=True)
class SentinelFinding:
    """Two copies of one target: `passed` unless they came out different at any declared quantile."""

    passed: bool
    pair: tuple[str, str]
    decisions: Mapping[str, Comparison]


@dataclass(frozen=True)
class ControlFinding:
    """A copy delayed by a known time. `sensitive`: found different; `passed`: with right sign and size as
    well.
    """

    passed: bool
    sensitive: bool
    pair: tuple[str, str]
    delay_ns: int
    expected_ns: tuple[int, int | None]
    found_ns: int | None
    interval_ns: tuple[int, int] | None
    comparison: Comparison


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


@dataclass(frozen=True)
class QuestionFinding:
    """The answer to one question; `withheld` says why there is no ranking."""

    id: str
    text: str
    fixed: Mapping[str, FactorValue]
    compare: str
    quantiles: tuple[str, ...]
    blocks_used: int
    blocks_dropped: tuple[DroppedBlock, ...]
    ranking: tuple[Ranked, ...]
    withheld: str | None
    decisions: tuple[Decision, ...]
    margins: Mapping[str, Margin]
    sentinel: SentinelFinding | None
    control: ControlFinding | None
    gates: tuple[GateFinding, ...]


@dataclass(frozen=True)
class CellFinding:
    """One cell over all its usable blocks; latencies in ns, shares 0…1."""

    cell: str
    target: str
    copy: Copy | None
    factors: Mapping[str, FactorValue]
    verdicts: Mapping[str, int]
    causes: tuple[str, ...]
    blocks: int
    round_trips_per_s: Estimate
    latency_ns: Summary
    latency_from_send_ns: Summary
    per_block: tuple[Mapping[str, Any], ...]
    percentile_curve: tuple[tuple[float, int], ...]
    counts: Mapping[str, int]
    cpu_ns_per_message: Estimate
    memory_per_connection_bytes: int | None
    rss_connected_bytes: int | None
    ceiling_share: float | None
    generator_bound: bool
    warmup_class: WarmupClass
    options: Mapping[str, str]
    version: str | None
    toolchain: str | None


@dataclass(frozen=True)
class ImpossibleFinding:
    cell: str
    check: str
    text: str


@dataclass(frozen=True)
class OptionsFinding:
    option: str
    values: Mapping[str, tuple[str, ...]]
    text: str


@dataclass(frozen=True)
class NotMeasured:
    target: str
    reason: str


@dataclass(frozen=True)
class Findings:
    """All that a run found."""

    scenario: str
    title: str
    run: str
    analysis: str
    questions: tuple[QuestionFinding, ...]
    cells: tuple[CellFinding, ...]
    impossible: tuple[ImpossibleFinding, ...]
    options_differences: tuple[OptionsFinding, ...]
    not_measured: tuple[NotMeasured, ...]
    advice: tuple[Advice, ...]
    complete: bool
    repeat: str

    def to_json(self) -> dict[str, Any]:
        document = {"schema": SCHEMA, **asdict(self)}
        document["questions"] = [_question(question) for question in self.questions]
        document["cells"] = [_cell(cell) for cell in self.cells]
        return document


def _question(question: QuestionFinding) -> dict[str, Any]:
    fields = asdict(question)
    margins = fields.pop("margins")
    fields.update(
        quantity="round_trip",
        ranking_withheld=fields.pop("withheld"),
        ranking=[_ranked(ranked) for ranked in question.ranking],
        decisions=[_decision(decision) for decision in question.decisions],
        margin={
            name: {"ratio": margin["ratio"], "from": margin["source"]} for name, margin in margins.items()
        },
        sentinel=_sentinel(question.sentinel) if question.sentinel else None,
        control=_control(question.control) if question.control else None,
    )
    return fields


def _ranked(ranked: Ranked) -> dict[str, Any]:
    estimates = {
        name: {"value_ns": estimate.value, "interval_ns": estimate.interval}
        for name, estimate in ranked.estimates.items()
    }
    return {**asdict(ranked), "estimates": estimates}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "decision": comparison.outcome,
        "ratio": comparison.ratio,
        "interval": comparison.interval,
        "p": comparison.p,
        "p_holm": comparison.p_holm,
        "margin": comparison.margin.ratio,
        "blocks": comparison.blocks,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "pair": decision.pair,
        "cells": decision.cells,
        "quantile": decision.quantile,
        **_comparison(decision.comparison),
        "cliffs_delta": decision.cliffs_delta,
    }


def _sentinel(sentinel: SentinelFinding) -> dict[str, Any]:
    decisions = {name: _comparison(comparison) for name, comparison in sentinel.decisions.items()}
    return {"passed": sentinel.passed, "pair": sentinel.pair, "decisions": decisions}


def _control(control: ControlFinding) -> dict[str, Any]:
    fields = asdict(control)
    del fields["sensitive"], fields["comparison"]
    return {**fields, **_comparison(control.comparison)}


def _cell(cell: CellFinding) -> dict[str, Any]:
    fields = asdict(cell)
    counts = fields.pop("counts")
    return {**fields, **counts}
