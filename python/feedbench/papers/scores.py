"""Papík's scoring model: from five-number summaries to metric scores, final scores and places.

Pure: the summaries may be those that he printed or those of a run. Lower is better. Ties share the better
score and the next one skips ("standard competition ranking"); a metric's score is the mean over the
exchanges, rounded to two places, and the final score is the mean of those rounded scores, rounded again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import isfinite

PLACES = Decimal("0.01")

Number = int | float | Decimal


@dataclass(frozen=True)
class FiveNumbers:
    """The latency of one contender at one exchange, in any one unit.

    `minimum` and `maximum` are the whisker ends of a box plot in the paper; which reading is meant is for
    the caller to say.
    """

    minimum: Number
    q1: Number
    median: Number
    q3: Number
    maximum: Number


# In the order of the printed tables.
METRICS = ("maximum", "q3", "median", "q1", "minimum")

Summaries = Mapping[str, Mapping[str, FiveNumbers]]


@dataclass(frozen=True)
class Scores:
    """By metric and contender (table 11), by contender (table 12), and the places that these give."""

    metrics: Mapping[str, Mapping[str, Decimal]]
    final: Mapping[str, Decimal]
    places: Mapping[str, int]


def score(summaries: Summaries) -> Scores:
    """From the summary of each contender at each exchange.

    ValueError when an exchange lacks a contender, or a number is none: a mean over other exchanges would
    be compared with a mean over these.
    """
    contenders = _contenders(summaries)
    metrics = {metric: _metric_scores(summaries, contenders, metric) for metric in METRICS}
    final = {
        contender: _mean([Fraction(metrics[metric][contender]) for metric in METRICS])
        for contender in contenders
    }
    return Scores(metrics, final, _places(final))


def competition_scores(values: Mapping[str, Number]) -> dict[str, int]:
    """The lowest value gets as many points as there are contenders; each one loses a point for each
    contender that was faster.
    """
    return {
        name: len(values) - sum(other < value for other in values.values()) for name, value in values.items()
    }


def _contenders(summaries: Summaries) -> Sequence[str]:
    if not summaries:
        raise ValueError("there is no exchange to score")
    first = next(iter(summaries))
    contenders = list(summaries[first])
    if not contenders:
        raise ValueError(f"{first} has no contender")
    for exchange, entries in summaries.items():
        odd = sorted(set(entries) ^ set(contenders))
        if odd:
            raise ValueError(f"{odd[0]} is not at both {first} and {exchange}")
        for contender, numbers in entries.items():
            bad = next((metric for metric in METRICS if not isfinite(getattr(numbers, metric))), None)
            if bad:
                raise ValueError(f"the {bad} of {contender} at {exchange} is no number")
    return contenders


def _metric_scores(summaries: Summaries, contenders: Sequence[str], metric: str) -> dict[str, Decimal]:
    each = [
        competition_scores({name: getattr(numbers, metric) for name, numbers in entries.items()})
        for entries in summaries.values()
    ]
    return {name: _mean([Fraction(points[name]) for points in each]) for name in contenders}


def _mean(values: Sequence[Fraction]) -> Decimal:
    """Rounded as a spreadsheet's ROUND does it: halves away from zero."""
    mean = sum(values, Fraction(0)) / len(values)
    return (Decimal(mean.numerator) / Decimal(mean.denominator)).quantize(PLACES, rounding=ROUND_HALF_UP)


def _places(final: Mapping[str, Decimal]) -> dict[str, int]:
    """1 for the highest score; equal scores share a place."""
    return {name: 1 + sum(other > value for other in final.values()) for name, value in final.items()}
