"""Which choices another one beats: no worse in any respect and better in one, and both shown, not guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from feedbench.advise.evidence import Choice, Evidence, Observation
from feedbench.findings import Interval

Relation = Literal["better", "tied", "worse", "open"]
CRITERIA = ("p99", "CPU", "memory")
# Memory is one figure without an interval: what differs by less may come out the other way tomorrow.
MEMORY_MARGIN = 1.10

_TURNED: Mapping[Relation, Relation] = {"better": "worse", "worse": "better", "tied": "tied", "open": "open"}


@dataclass(frozen=True)
class Dominated:
    """A choice that meets the need, and the one that is at least as good in everything."""

    choice: Choice
    by: Choice
    relations: Mapping[str, Relation]


def relations(first: Observation, second: Observation, evidence: Evidence) -> dict[str, Relation]:
    """How the first stands to the second in each respect; `open` where nothing was decided."""
    return {
        "p99": _p99(first, second, evidence),
        "CPU": _by_intervals(first.cpu_interval_ns, second.cpu_interval_ns),
        "memory": _memory(first.memory_bytes, second.memory_bytes),
    }


def dominates(found: Mapping[str, Relation]) -> bool:
    values = set(found.values())
    return values <= {"better", "tied"} and "better" in values


def divide(
    met: Mapping[Choice, Observation], evidence: Evidence
) -> tuple[Sequence[Choice], Sequence[Dominated]]:
    """(those that nothing beats, the others with one that beats each), both in the order given.

    Whoever beats another is named from among those that are kept, where such a one does.
    """
    beaten: dict[Choice, list[Dominated]] = {}
    for choice, own in met.items():
        for other, theirs in met.items():
            found = relations(theirs, own, evidence) if other != choice else {}
            if found and dominates(found):
                beaten.setdefault(choice, []).append(Dominated(choice, other, found))
    kept = [choice for choice in met if choice not in beaten]
    named = [next((one for one in ones if one.by in kept), ones[0]) for ones in beaten.values()]
    return kept, named


def _p99(first: Observation, second: Observation, evidence: Evidence) -> Relation:
    """As their run decided it, side by side. Different runs are different days."""
    found = evidence.decision(first, second)
    if found is None:
        return "open"
    decision, turned = found
    relation: Relation = "open"
    if decision.outcome == "equivalent":
        relation = "tied"
    elif decision.outcome == "different" and decision.comparison.ratio is not None:
        relation = "better" if decision.comparison.ratio < 1 else "worse"
    return _TURNED[relation] if turned else relation


def _by_intervals(first: Interval | None, second: Interval | None) -> Relation:
    if first is None or second is None:
        return "open"
    if first[1] < second[0]:
        return "better"
    return "worse" if second[1] < first[0] else "open"


def _memory(first: int | None, second: int | None) -> Relation:
    if first is None or second is None:
        return "open"
    if first * MEMORY_MARGIN < second:
        return "better"
    return "worse" if second * MEMORY_MARGIN < first else "tied"
