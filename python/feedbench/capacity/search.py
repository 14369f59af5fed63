"""The search for the greatest load that holds: pure, it is given the experiment.

Loads are doubled until one fails, then the gap is halved in ratio until it is as narrow as wanted. One
experiment may be disturbed, so each load is decided by a majority of three. The whole halving is repeated
from a bracket around the first answer: how far the repeats lie apart is the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median_low

MAJORITY = 2
# A repeat begins this factor below and above the first answer, and moves on if that does not enclose its own.
BRACKET = 1.5

Experiment = Callable[[int], bool]


@dataclass(frozen=True)
class Trial:
    """One experiment: the load, and whether it held."""

    load: int
    held: bool


@dataclass(frozen=True)
class Capacity:
    """The median of the repeats (the lower one of two) and their range.

    `at_least` says that even the greatest load allowed held; `value` 0 that not even the least did.
    """

    value: int
    interval: tuple[int, int]
    estimates: tuple[int, ...]
    trials: tuple[Trial, ...]
    at_least: bool


@dataclass
class _Search:
    experiment: Experiment
    least: int
    most: int
    precision: float
    trials: list[Trial] = field(default_factory=list)

    def holds(self, load: int) -> bool:
        """By majority; the third experiment only when the first two differ."""
        outcomes: list[bool] = []
        while max(outcomes.count(True), outcomes.count(False)) < MAJORITY:
            held = self.experiment(load)
            self.trials.append(Trial(load, held))
            outcomes.append(held)
        return outcomes.count(True) == MAJORITY

    def bracket(self, low: int, high: int) -> tuple[int, int]:
        """(a load that holds or 0, one that fails or most + 1), each first tried at `low` and `high`."""
        while not self.holds(low):
            if low == self.least:
                return 0, low
            high, low = low, max(self.least, low // 2)
        while high <= self.most and self.holds(high):
            if high == self.most:
                return high, self.most + 1
            low, high = high, min(self.most, high * 2)
        return low, high

    def narrow(self, low: int, high: int) -> int:
        """The greatest load that held, once the next that failed is within the precision of it."""
        while low > 0 and low < self.most and high > max(low + 1, low * (1 + self.precision)):
            middle = min(high - 1, max(low + 1, round((low * high) ** 0.5)))
            if self.holds(middle):
                low = middle
            else:
                high = middle
        return low


def find_capacity(
    experiment: Experiment, *, least: int = 1, most: int, precision: float = 0.05, repeats: int = 5
) -> Capacity:
    """The greatest load from `least` to `most` for which `experiment` holds."""
    if not 0 < least <= most or not 0 < precision < 1 or repeats < 1:
        raise ValueError(
            f"no search can be made from {least} to {most} at {precision} with {repeats} repeats"
        )
    search = _Search(experiment, least, most, precision)
    estimates = [search.narrow(*search.bracket(least, min(most, least * 2)))]
    while len(estimates) < repeats:
        first = estimates[0]
        low = max(least, min(most, round(first / BRACKET)))
        high = max(low + 1, min(most, round(first * BRACKET)))
        estimates.append(search.narrow(*search.bracket(low, high)))
    ordered = sorted(estimates)
    return Capacity(
        value=median_low(ordered),
        interval=(ordered[0], ordered[-1]),
        estimates=tuple(estimates),
        trials=tuple(search.trials),
        at_least=median_low(ordered) >= most,
    )
