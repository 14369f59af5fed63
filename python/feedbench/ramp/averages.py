"""Several repeats of one target as one: averaged round by round, as the study does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from feedbench.ramp.record import Repeat, Round

Measure = Callable[[Round], float | None]


@dataclass(frozen=True)
class Point:
    """The average of the repeats that came to this round, and how far they lie apart."""

    connections: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Target:
    """All repeats of one target that have a round."""

    name: str
    repeats: tuple[Repeat, ...]

    @property
    def finished(self) -> bool:
        """Every repeat came to the last round without breaking."""
        return all(repeat.finished for repeat in self.repeats)

    @property
    def most_connections(self) -> int:
        """That stood at one time, in any round of any repeat."""
        return max(round.connected for repeat in self.repeats for round in repeat.rounds)

    def points(self, measure: Measure) -> list[Point]:
        """By number of connections."""
        values: dict[int, list[float]] = {}
        for repeat in self.repeats:
            for round in repeat.rounds:
                if (value := measure(round)) is not None:
                    values.setdefault(round.wanted, []).append(value)
        return [Point(wanted, fmean(each), min(each), max(each)) for wanted, each in sorted(values.items())]

    def total(self, measure: Measure) -> Point:
        """Of all rounds of a repeat together."""
        sums = [sum(measure(round) or 0.0 for round in repeat.rounds) for repeat in self.repeats]
        most = max(round.wanted for repeat in self.repeats for round in repeat.rounds)
        return Point(most, fmean(sums), min(sums), max(sums))


def by_target(repeats: Sequence[Repeat]) -> list[Target]:
    """In the order of the repeats; targets without a single round are left out."""
    grouped: dict[str, list[Repeat]] = {}
    for repeat in repeats:
        if repeat.rounds:
            grouped.setdefault(repeat.target, []).append(repeat)
    return [Target(name, tuple(own)) for name, own in grouped.items()]


def request_s(round: Round) -> float | None:
    """From first send to last answer; None where nothing was answered."""
    return round.elapsed_ns / 1e9 if round.answered else None


def connection_s(round: Round) -> float | None:
    return round.connecting_ns / 1e9


def total_s(round: Round) -> float | None:
    return (round.elapsed_ns + round.connecting_ns) / 1e9


def longest_s(round: Round) -> float | None:
    return _latency_s(round, "max")


def average_s(round: Round) -> float | None:
    return _latency_s(round, "mean")


def _latency_s(round: Round, name: str) -> float | None:
    value = round.latency_ns.get(name)
    return None if value is None else value / 1e9
