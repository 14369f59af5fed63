"""A ranking's lines at one quantile, as they are drawn and told."""

from __future__ import annotations

from dataclasses import dataclass

from feedbench.findings import Interval, QuestionFinding


@dataclass(frozen=True)
class Standing:
    """A line of a ranking at one quantile, where there is a value to show."""

    name: str
    rank: tuple[int, int]
    tier: int
    value_ns: float
    interval_ns: Interval | None


def standings(question: QuestionFinding, quantile: str) -> list[Standing]:
    """The ranking's lines that have a value at `quantile`, best first."""
    estimates = [(entry, entry.estimates.get(quantile)) for entry in question.ranking]
    return [
        Standing(entry.label, entry.rank, entry.tier, estimate.value_ns, estimate.interval_ns)
        for entry, estimate in estimates
        if estimate is not None and estimate.value_ns is not None
    ]
