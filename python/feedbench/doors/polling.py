"""The age of events that are asked for: what a poller's record shows, and what it must show.

An event that does not know of the poller falls anywhere between two readings of the market. It waits for the
next one, and half a round trip more (if both ways take equally long) until the answer is there: U(0,
interval) + RTT/2. Where REST's age is anything else, the laboratory has an error, or the exchange a delay of
its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from feedbench.clock_offset.sample import Interval
from feedbench.feed.stamps import Kind, Stamps

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANSWER_HEAD = Struct("<QHxx")  # spec/feed.md, Pollers
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Answer:
    """One question and its answer, on the poller's monotonic clock."""

    sent_ns: int
    received_ns: int
    status: int
    body: bytes

    @property
    def round_trip_ns(self) -> int:
        return self.received_ns - self.sent_ns

    @property
    def middle_ns(self) -> float:
        """When the market was read, if both ways took equally long."""
        return self.sent_ns + self.round_trip_ns / 2


@dataclass(frozen=True)
class PollingLaw:
    """The mean age of the events, found and expected.

    `found_ns` is its confidence interval over the events; `expected_ns` reaches from both ways' being all of
    the round trip there to all of it back. `uniform_p` is Kolmogorov and Smirnov's, of where in the interval
    between two readings the events fell.
    """

    events: int
    found_ns: Interval
    expected_ns: Interval
    uniform_p: float

    @property
    def holds(self) -> bool:
        return self.found_ns.overlaps(self.expected_ns)


def answers(stamps: Stamps) -> Iterator[Answer]:
    """A poller's answers in the order of receipt; ValueError when one is cut short."""
    for index in np.flatnonzero(stamps.heads["kind"] == Kind.ANSWER):
        payload = stamps.payload(int(index))
        if len(payload) < ANSWER_HEAD.size:
            raise ValueError(f"an answer of {len(payload)} bytes has no head")
        sent_ns, status = ANSWER_HEAD.unpack_from(payload)
        received_ns = int(stamps.heads["received_ns"][index])
        yield Answer(sent_ns, received_ns, status, payload[ANSWER_HEAD.size :])


def polling_law(polls: Sequence[tuple[Answer, int]], births_ns: Mapping[int, int]) -> PollingLaw:
    """`polls` are answers with the number of the newest event that each tells of; numbers count on by one.

    Events of the same moment count once. ValueError from fewer than ten events that were told by a poll which
    had one before it.
    """
    ages: list[float] = []
    places: list[float] = []
    for (before, known), (poll, newest) in pairwise(polls):
        gap_ns = poll.middle_ns - before.middle_ns
        for born_ns in sorted({births_ns[n] for n in range(known + 1, newest + 1) if n in births_ns}):
            ages.append(poll.received_ns - born_ns)
            places.append((poll.middle_ns - born_ns) / gap_ns)
    if len(ages) < 10:
        raise ValueError(f"{len(ages)} events are too few")
    return PollingLaw(
        events=len(ages),
        found_ns=_mean(np.array(ages, dtype=np.float64)),
        expected_ns=_expected([poll for poll, _ in polls]),
        uniform_p=float(stats.kstest(places, "uniform").pvalue),
    )


def _mean(ages: NDArray[np.float64]) -> Interval:
    """Of ages that are independent of each other, as events are that arrive at random."""
    error = float(ages.std(ddof=1)) / math.sqrt(len(ages))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(ages) - 1)) * error
    return Interval(float(ages.mean()) - reach, float(ages.mean()) + reach)


def _expected(polls: Sequence[Answer]) -> Interval:
    """A longer interval between two readings holds more events, each of which waits longer: gaps weigh by
    their own length, as in the inspection paradox.
    """
    middles = np.array([poll.middle_ns - polls[0].sent_ns for poll in polls])
    halves = np.array([poll.round_trip_ns for poll in polls[1:]]) / 2
    gaps = np.diff(middles)
    middle = float(np.average(gaps / 2 + halves, weights=gaps))
    asymmetry = float(np.average(halves, weights=gaps))
    return Interval(middle - asymmetry, middle + asymmetry)
