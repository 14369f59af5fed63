"""Injected offsets, drifts and asymmetric paths are recovered within the stated intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.clock_offset.bounds import ContradictionError, OffsetBounds, offset_bounds
from feedbench.clock_offset.drift import robust_drift
from feedbench.clock_offset.estimate import OneWay, estimate_offset, one_way, paper_offset_ns, smaller
from feedbench.clock_offset.sample import ClockSample, Interval

SKEW_NS = -1_272_000_000
DRIFT_PPM = 1.4e6 / 300e9 * 1e6  # 1.4 ms in 5 minutes
UNIX_NS = 1_795_301_046_000_000_000 - 7_000_000_000_000  # remote Unix time less local monotonic time
RUN_S = 300
CASES = 200


@dataclass(frozen=True)
class Truth:
    """What was injected: at local time t, remote = t + base + drift · (t − start)."""

    base_ns: int
    drift_ppm: float
    start_ns: int

    def offset_ns(self, local_ns: int) -> float:
        return self.base_ns + self.drift_ppm * (local_ns - self.start_ns) / 1e6

    def remote_ns(self, local_ns: int, resolution_ns: int = 1) -> int:
        shown = local_ns + self.base_ns + round(self.drift_ppm * (local_ns - self.start_ns) / 1e6)
        return shown - shown % resolution_ns


TRUTH = Truth(UNIX_NS + SKEW_NS, DRIFT_PPM, 7_000_000_000_000)


def path(seed: int, *, resolution_ns: int = 1_000, every_s: float = 1.0) -> list[ClockSample]:
    """Samples over a path that is slower back than there: 4 ms and 11 ms at least, and queues with long
    tails.
    """
    chance = np.random.default_rng(seed)
    samples = []
    for position in range(int(RUN_S / every_s)):
        sent_ns = TRUTH.start_ns + int(position * every_s * 1e9)
        there_ns = 4_000_000 + int(chance.gamma(0.7, 2e6))
        back_ns = 11_000_000 + int(chance.gamma(0.7, 6e6))
        remote_ns = TRUTH.remote_ns(sent_ns + there_ns, resolution_ns)
        samples.append(ClockSample(sent_ns, remote_ns, sent_ns + there_ns + back_ns, resolution_ns))
    return samples


def coverage(stated: Callable[[Sequence[ClockSample]], Interval], truth: float) -> float:
    """In what share of seeded cases the stated interval holds the truth."""
    return sum(stated(path(seed)).holds(truth) for seed in range(CASES)) / CASES


def offset_interval(samples: Sequence[ClockSample]) -> Interval:
    interval = estimate_offset(samples).interval_ns(MIDDLE_NS)
    assert interval is not None
    return interval


def drift_interval(samples: Sequence[ClockSample]) -> Interval:
    drift = robust_drift(samples)
    assert drift is not None
    return drift.interval_ppm


MIDDLE_NS = TRUTH.start_ns + RUN_S * 500_000_000


def test_the_offset_lies_within_its_interval() -> None:
    assert coverage(offset_interval, TRUTH.offset_ns(MIDDLE_NS)) >= 0.95


def test_the_drift_lies_within_its_interval() -> None:
    assert coverage(drift_interval, DRIFT_PPM) >= 0.95


def test_an_interval_that_is_too_narrow_is_noticed() -> None:
    """The paper's figure with the spread of its samples as an interval, and our drift with a tenth of its
    own.
    """

    def spread(samples: Sequence[ClockSample]) -> Interval:
        middle = paper_offset_ns(samples)
        error = np.std([sample.midpoint_offset_ns - middle for sample in samples]) / math.sqrt(len(samples))
        return Interval(middle - 2 * error, middle + 2 * error)

    def tenth(samples: Sequence[ClockSample]) -> Interval:
        whole = drift_interval(samples)
        return Interval(whole.middle - whole.width / 20, whole.middle + whole.width / 20)

    assert coverage(spread, TRUTH.offset_ns(MIDDLE_NS)) < 0.95
    assert coverage(tenth, DRIFT_PPM) < 0.95


def test_asymmetry_moves_the_papers_figure_and_not_the_bounds() -> None:
    samples = path(1)
    estimate = estimate_offset(samples)
    # 7 ms of asymmetry are 3.5 ms of error.
    assert estimate.paper_offset_ns - TRUTH.offset_ns(samples[2].sent_ns) < -3_000_000
    assert estimate.best_bounds_ns.holds(TRUTH.offset_ns(MIDDLE_NS) - 700_000)
    within = estimate.interval_ns(MIDDLE_NS)
    assert within is not None
    assert within.width < estimate.best_bounds_ns.width + 1_400_000


@pytest.mark.parametrize("resolution_ns", [1, 1_000, 1_000_000, 1_000_000_000])
def test_a_coarse_clock_is_known_less_well_and_still_truly(resolution_ns: int) -> None:
    for seed in range(20):
        interval = offset_interval(path(seed, resolution_ns=resolution_ns))
        assert interval.holds(TRUTH.offset_ns(MIDDLE_NS))
        # Many samples of a clock that is cut to seconds see it turn, which says more than one sample does.
        assert interval.width < 20_000_000 + resolution_ns


delays = st.integers(0, 50_000_000)


@given(
    st.integers(-(10**18), 2 * 10**18),
    st.floats(-499, 499),
    st.lists(st.tuples(st.integers(0, 600 * 10**9), delays, delays), min_size=1, max_size=60),
)
def test_bounds_always_hold_a_steady_clock(
    base_ns: int, drift_ppm: float, trips: list[tuple[int, int, int]]
) -> None:
    truth = Truth(base_ns, drift_ppm, 0)
    samples = [
        ClockSample(at, truth.remote_ns(at + there), at + there + back, 1) for at, there, back in trips
    ]
    bounds = offset_bounds(samples)
    for sample in samples:
        within = bounds.at(sample.sent_ns)
        # 256 ns: what a float keeps of 2·10¹⁸; the truth is rounded to whole nanoseconds, too.
        assert within.low - 300 <= truth.offset_ns(sample.sent_ns) <= within.high + 300
    assert bounds.drift_ppm.low - 1e-3 <= drift_ppm <= bounds.drift_ppm.high + 1e-3


def test_a_clock_that_was_set_is_no_steady_clock() -> None:
    samples = path(1)
    stepped = [
        replace(sample, remote_ns=sample.remote_ns + 50_000_000 * (position > 150))
        for position, sample in enumerate(samples)
    ]
    with pytest.raises(ContradictionError, match="clocks was set"):
        offset_bounds(stepped[140:160])
    estimate = estimate_offset(stepped[140:160])
    assert estimate.contradiction is not None
    assert estimate.interval_ns(MIDDLE_NS) is None
    age = one_way(estimate, remote_ns=stepped[150].remote_ns, received_ns=stepped[150].received_ns)
    assert smaller(age, OneWay(0.0, Interval(0, 1))) == "undecided"


def test_nothing_is_ranked_inside_an_interval() -> None:
    def age(milliseconds: float, half_width: float) -> OneWay:
        interval = Interval((milliseconds - half_width) * 1e6, (milliseconds + half_width) * 1e6)
        return OneWay(milliseconds * 1e6, interval)

    # The paper's five minutes: WebSocket 72.61 ms with a clock known to ±50 ms, REST's half round trip 25.46
    # ms.
    assert smaller(age(72.61, 50), age(25.46, 0)) == "undecided"
    assert smaller(age(72.61, 5), age(25.46, 0)) == "second"
    assert smaller(age(25.46, 0), age(72.61, 5)) == "first"


def test_one_way_holds_the_injected_delay() -> None:
    estimate = estimate_offset(path(3))
    received_ns = MIDDLE_NS
    born_ns = TRUTH.remote_ns(received_ns - 9_000_000)
    age = one_way(estimate, remote_ns=born_ns, received_ns=received_ns)
    assert age.interval_ns is not None
    assert age.interval_ns.holds(9_000_000)
    assert age.interval_ns.holds(age.value_ns)
    # An interval that leaves out the asymmetry would be a millisecond wide, and wrong.
    assert age.interval_ns.width > 5_000_000


def test_drift_is_not_guessed_from_little() -> None:
    assert robust_drift(path(1)[:9]) is None
    at_once = [ClockSample(0, 5, 10)] * 30
    assert robust_drift(at_once) is None


@pytest.mark.parametrize(
    ("sample", "complaint"),
    [((10, 5, 9, 1), "before the question"), ((0, 5, 9, 0), "can't be read to 0 ns")],
)
def test_impossible_samples_are_refused(sample: tuple[int, int, int, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ClockSample(*sample)


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        estimate_offset([])
    with pytest.raises(ValueError, match="no samples"):
        offset_bounds([])


def test_bounds_widen_outside_what_was_sampled() -> None:
    bounds: OffsetBounds = offset_bounds(path(5))
    assert bounds.at(MIDDLE_NS + 10**12).width > bounds.at(MIDDLE_NS).width
