"""The search finds a planted capacity in simulated servers, also when experiments are disturbed."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from feedbench.capacity.search import find_capacity


def queue(knee: int, *, noise: float, seed: int) -> Callable[[int], bool]:
    """A server with a queue: its latency is 1/(1 − load/saturation), and passes the limit at `knee`.

    Each experiment sees it off by a random factor, as a disturbed machine does.
    """
    generator = random.Random(seed)
    saturation = knee * 1.25  # at the knee the queue makes a round trip five times as long

    def holds(load: int) -> bool:
        used = min(load / saturation, 0.999_999)
        latency = 1 / (1 - used) * generator.lognormvariate(0, noise)
        return latency <= 5.000_001

    return holds


@pytest.mark.parametrize("knee", [1, 2, 3, 7, 100, 1234, 9999, 10_000])
@pytest.mark.parametrize("precision", [0.01, 0.05, 0.2])
def test_a_still_machine_gives_the_planted_knee(knee: int, precision: float) -> None:
    found = find_capacity(queue(knee, noise=0, seed=1), most=10_000, precision=precision)
    assert knee / (1 + precision) - 1 <= found.value <= knee
    assert found.interval == (min(found.estimates), max(found.estimates))
    assert len(found.estimates) == 5


@pytest.mark.parametrize("seed", range(30))
def test_a_disturbed_machine_gives_it_within_its_interval_and_a_tenth(seed: int) -> None:
    found = find_capacity(queue(2000, noise=0.1, seed=seed), most=100_000)
    low, high = found.interval
    assert low * 0.9 <= 2000 <= high * 1.1
    assert found.value == pytest.approx(2000, rel=0.15)


def test_a_lone_outlier_decides_nothing() -> None:
    """Every fifth experiment fails whatever its load: two in a row never do."""
    calls = 0

    def holds(load: int) -> bool:
        nonlocal calls
        calls += 1
        return load <= 777 and calls % 5 != 0

    found = find_capacity(holds, most=10_000, precision=0.01)
    assert all(777 / 1.02 <= estimate <= 777 for estimate in found.estimates)


def test_the_ends_are_told_apart_from_an_answer() -> None:
    everything = find_capacity(lambda load: True, most=1000)
    assert (everything.value, everything.at_least) == (1000, True)
    nothing = find_capacity(lambda load: False, most=1000)
    assert (nothing.value, nothing.interval, nothing.at_least) == (0, (0, 0), False)
    only_one = find_capacity(lambda load: load == 1, least=1, most=1)
    assert (only_one.value, only_one.at_least) == (1, True)


def test_nothing_outside_of_the_bounds_is_tried_and_little_inside() -> None:
    found = find_capacity(lambda load: load <= 5000, least=10, most=8000, repeats=3)
    loads = [trial.load for trial in found.trials]
    assert min(loads) >= 10
    assert max(loads) <= 8000
    assert len(loads) <= 2 * (12 + 3 * 8)


@pytest.mark.parametrize(
    ("least", "most", "precision", "repeats"),
    [(0, 5, 0.1, 1), (6, 5, 0.1, 1), (1, 5, 0.0, 1), (1, 5, 0.1, 0)],
)
def test_senseless_searches_are_refused(least: int, most: int, precision: float, repeats: int) -> None:
    with pytest.raises(ValueError, match="no search"):
        find_capacity(lambda load: True, least=least, most=most, precision=precision, repeats=repeats)
