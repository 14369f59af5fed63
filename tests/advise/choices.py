"""Observations and decisions out of planted values, for the tests of the advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from feedbench.advise.evidence import Choice, Evidence, Observation
from feedbench.advise.need import Need
from feedbench.findings import Comparison, Decision
from feedbench.findings.comparison import Outcome

NEED = Need(streams=200, rate_per_s=5_000, p99_ns=1_000_000)
SOURCE = "runs/one"


@dataclass(frozen=True)
class Truth:
    """What a choice is like: p99 in µs, CPU per message in µs, memory in MB."""

    p99: float
    cpu: float
    memory: int


def observation(name: str, truth: Truth, **changes: object) -> Observation:
    """With intervals of ±2 %, under exactly the need's load."""
    values: dict[str, object] = {
        "choice": Choice(name, "ws"),
        "deflate": False,
        "source": SOURCE,
        "cell": name,
        "payload": "binary:108",
        "connections": NEED.streams,
        "rate_per_s": NEED.rate_per_s,
        "p99_ns": truth.p99 * 1e3,
        "p99_interval_ns": (truth.p99 * 980, truth.p99 * 1_020),
        "cpu_ns": truth.cpu * 1e3,
        "cpu_interval_ns": (truth.cpu * 980, truth.cpu * 1_020),
        "memory_bytes": truth.memory * 1_000_000,
    }
    return Observation(**(values | changes))  # type: ignore[arg-type]


def decision(first: str, second: str, ratio: float, outcome: Outcome) -> Decision:
    interval = (ratio * 0.99, ratio * 1.01)
    comparison = Comparison(outcome, ratio, interval, 0.001, 0.001, 0.01, 11)
    return Decision((first, second), (first, second), "p99", comparison, None)


def evidence(
    truths: Mapping[str, Truth], *, undecided: frozenset[frozenset[str]] = frozenset(), **changes: object
) -> Evidence:
    """One run in which all were measured side by side; a p99 of ±1 % is `equivalent`, else `different`."""
    decisions = {}
    for first, second in combinations(truths, 2):
        ratio = truths[first].p99 / truths[second].p99
        outcome: Outcome = "equivalent" if 0.99 <= ratio <= 1.01 else "different"
        if frozenset((first, second)) in undecided:
            outcome = "undecided"
        decisions[SOURCE, first, second] = decision(first, second, ratio, outcome)
    return Evidence(
        observations=tuple(observation(name, truth, **changes) for name, truth in truths.items()),
        decisions=decisions,
        commands=("feedbench run one.toml",),
    )
