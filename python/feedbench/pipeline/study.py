"""All that the pipeline found, as frozen values: pipeline.json, and what tables and figures show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from feedbench.papers.scores import FiveNumbers, Scores, score
from feedbench.paths import SCHEMA
from feedbench.pipeline.account import Account
from feedbench.pipeline.ages import Ages, Box, box, quantiles
from feedbench.pipeline.normality import Normality, normality
from feedbench.pipeline.problem import Problem
from feedbench.pipeline.series import Series
from feedbench.pipeline.stream import Stream
from feedbench.typed_json import to_json

QUANTILES = ("p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99")

# "whiskers" is the paper's reading of minimum and maximum, "extremes" the textbook's.
Reading = Literal["whiskers", "extremes"]


@dataclass(frozen=True)
class Summary:
    """Of one client's ages, over the events that all clients of its exchange received. `quantiles_ms` by the
    names of QUANTILES.
    """

    box_ms: Box
    quantiles_ms: Mapping[str, float]
    normality: Normality


@dataclass(frozen=True)
class SeriesStudy:
    """`summary` is None where no event is common."""

    series: Series
    account: Account
    summary: Summary | None


@dataclass(frozen=True)
class ExchangeStudy:
    """`withheld` says why these ages count for no score; None where they do. No `stream` without messages."""

    exchange: str
    stream: Stream | None
    series: tuple[SeriesStudy, ...]
    withheld: str | None


@dataclass(frozen=True)
class Scoring:
    """`left_out` are the clients that were not at each of `exchanges`: a mean over some exchanges is not
    compared with a mean over others.
    """

    exchanges: tuple[str, ...]
    left_out: tuple[str, ...]
    scores: Scores


@dataclass(frozen=True)
class Study:
    """`one_clock`: all clients read one host's clock, so that its error is in all ages alike."""

    exchanges: tuple[ExchangeStudy, ...]
    problems: tuple[Problem, ...]
    one_clock: bool

    def clients(self) -> list[str]:
        """In the order of names."""
        return sorted({each.series.client for exchange in self.exchanges for each in exchange.series})

    @property
    def compared(self) -> bool:
        """Whether there is any event that all clients of an exchange received."""
        return any(each.summary is not None for exchange in self.exchanges for each in exchange.series)

    def scoring(self, reading: Reading) -> Scoring | None:
        """By the paper's model; None where nothing can be scored."""
        scored = [exchange for exchange in self.exchanges if exchange.withheld is None]
        summaries = {exchange.exchange: five_numbers(exchange, reading) for exchange in scored}
        everywhere = [name for name in self.clients() if all(name in each for each in summaries.values())]
        if not summaries or len(everywhere) < 2:
            return None
        contenders = {
            exchange: {name: each[name] for name in everywhere} for exchange, each in summaries.items()
        }
        return Scoring(
            tuple(summaries),
            tuple(name for name in self.clients() if name not in everywhere),
            score(contenders),
        )

    def to_json(self) -> dict[str, Any]:
        """pipeline.json (spec/README.md)."""
        return {
            "schema": SCHEMA,
            **to_json(self),
            "scores": {reading: _scoring_json(self.scoring(reading)) for reading in ("whiskers", "extremes")},
        }


def summarize(ages: Ages) -> Summary:
    """ValueError when there are none."""
    return Summary(box(ages), quantiles(ages, QUANTILES), normality(ages))


def five_numbers(exchange: ExchangeStudy, reading: Reading) -> dict[str, FiveNumbers]:
    """By client, of those that have a summary."""
    return {
        each.series.client: getattr(each.summary.box_ms, reading)
        for each in exchange.series
        if each.summary is not None
    }


def _scoring_json(scoring: Scoring | None) -> dict[str, Any] | None:
    if scoring is None:
        return None
    scores = scoring.scores
    return {
        "exchanges": list(scoring.exchanges),
        "left_out": list(scoring.left_out),
        "metrics": {
            metric: {name: float(value) for name, value in each.items()}
            for metric, each in scores.metrics.items()
        },
        "final": {name: float(value) for name, value in scores.final.items()},
        "places": dict(scores.places),
    }
