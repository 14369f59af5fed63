"""The law of polling holds in simulated markets, and what breaks it is noticed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from feedbench.doors.polling import Answer, PollingLaw, polling_law

MS = 1_000_000
INTERVAL_NS = 50 * MS


def simulated(seed: int, *, late_ns: int = 0, there_share: float = 0.5, in_step: bool = False) -> PollingLaw:
    """Three seconds of a market with 200 events a second, polled; `late_ns` is a delay of the exchange's.

    `in_step` lets events happen right before the poller reads, as if one waited for the other.
    """
    chance = np.random.default_rng(seed)
    births = np.sort(chance.uniform(0, 3e9, 600))
    polls, sent_ns = [], 0
    while sent_ns < 3_000 * MS:
        round_trip_ns = int(chance.gamma(4, MS / 4))
        read_ns = sent_ns + there_share * round_trip_ns
        newest = int(np.searchsorted(births + late_ns, read_ns))
        polls.append((Answer(sent_ns, sent_ns + round_trip_ns, 200, b""), newest))
        sent_ns += INTERVAL_NS + int(chance.exponential(MS))
    numbered = {number + 1: int(born_ns) for number, born_ns in enumerate(births)}
    if in_step:
        reads = np.array([poll.middle_ns for poll, _ in polls])
        after = np.minimum(np.searchsorted(reads, births), len(reads) - 1)
        numbered = {number: int(reads[after[number - 1]]) - MS for number in numbered}
    return polling_law(polls, numbered)


def share(holds: Callable[[int], bool]) -> float:
    return sum(holds(seed) for seed in range(100)) / 100


def test_the_law_holds_whatever_the_asymmetry_of_the_path() -> None:
    for there_share in (0.0, 0.3, 0.5, 1.0):
        assert share(lambda seed, there=there_share: simulated(seed, there_share=there).holds) >= 0.95


def test_a_delay_of_the_exchange_is_noticed() -> None:
    assert share(lambda seed: simulated(seed, late_ns=10 * MS).holds) <= 0.05


def test_a_poller_in_step_with_the_market_is_noticed() -> None:
    assert share(lambda seed: simulated(seed, in_step=True).holds) == 0
    assert share(lambda seed: simulated(seed, in_step=True).uniform_p > 0.01) == 0
    assert share(lambda seed: simulated(seed).uniform_p > 0.01) >= 0.9


def test_half_a_round_trip_is_not_the_age() -> None:
    law = simulated(1)
    assert 24 * MS < law.found_ns.middle < 28 * MS
    assert law.expected_ns.width < 1.5 * MS


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="0 events are too few"):
        polling_law([(Answer(0, 1, 200, b""), 5)], {})
