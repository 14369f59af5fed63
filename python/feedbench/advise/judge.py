"""Whether a choice meets a need, by measurements alone.

A measurement at least as heavy as the need (as many connections, as high a rate) that stays within the limit
shows that it is met; one at most as heavy that does not shows that it is not. Both lean on one assumption and
no other: more load never makes a server faster. Whatever lies between is not known, and said to be so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from feedbench.advise.evidence import Choice, Observation, load_words
from feedbench.advise.need import Need
from feedbench.units import format_duration

State = Literal["meets", "fails", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """`evidence` is the lightest measurement that shows the need to be met; None unless it is."""

    choice: Choice
    state: State
    reasons: tuple[str, ...]
    evidence: Observation | None = None


def judge(choice: Choice, observations: Sequence[Observation], need: Need) -> Verdict:
    """`observations`: those of the choice with the need's compression."""
    heavier = [one for one in observations if _at_least(one, need)]
    lighter = [one for one in observations if _at_most(one, need)]
    against = [reason for one in lighter for reason in _shown_against(one, need)]
    met = [one for one in sorted(heavier, key=_load) if not list(_doubts(one, need))]
    if met and against:
        disagreement = f"runs disagree: it meets the need in {met[0].source}"
        return Verdict(choice, "unknown", (disagreement, *against))
    if met:
        return Verdict(choice, "meets", tuple(_merits(met[0], need)), met[0])
    if against:
        return Verdict(choice, "fails", tuple(dict.fromkeys(against)))
    doubts = [
        f"with {next(load_words([one]))}, no less than asked: {doubt}"
        for one in heavier
        for doubt in _doubts(one, need)
    ]
    told = "; ".join(load_words(observations)) or "nothing"
    return Verdict(choice, "unknown", tuple(doubts) or (f"measured only: {told}",))


def _load(one: Observation) -> tuple[int, float]:
    return one.connections, one.rate_per_s


def _at_least(one: Observation, need: Need) -> bool:
    return one.connections >= need.streams and one.rate_per_s >= need.rate_per_s


def _at_most(one: Observation, need: Need) -> bool:
    return one.connections <= need.streams and one.rate_per_s <= need.rate_per_s


def _doubts(one: Observation, need: Need) -> Iterator[str]:
    """Why a measurement at least as heavy as the need does not show that it is met."""
    if one.failed is not None:
        yield one.failed
    elif one.holds_rate_per_s is not None:
        if need.cores is not None or need.memory_bytes is not None:
            yield "the search measured neither CPU nor memory"
        if one.limit_ns is not None and one.limit_ns > need.p99_ns:
            yield f"the search allowed a p99 of {format_duration(one.limit_ns)}"
    else:
        yield from _measured_doubts(one, need)


def _measured_doubts(one: Observation, need: Need) -> Iterator[str]:
    if one.closed_loop and not need.closed_loops:
        yield "a closed loop, which can't see what a stall does to messages that keep coming"
    if one.p99_interval_ns is None:
        yield "its p99 has no interval, for which it takes six blocks"
    elif one.p99_interval_ns[1] > need.p99_ns:
        yield f"its p99 may be {format_duration(round(one.p99_interval_ns[1]))}"
    if one.loss_share > need.loss_share:
        yield f"it lost {one.loss_share:.3%} of the messages"
    if need.cores is not None:
        needed = cores(one, need)
        if needed is None:
            yield "its CPU time is not known"
        elif needed > need.cores:
            yield f"it needs {needed:.2f} cores for {need.rate_per_s:,.0f} messages/s"
    if need.memory_bytes is not None:
        if one.memory_bytes is None:
            yield "its memory is not known"
        elif one.memory_bytes > need.memory_bytes:
            yield f"it took {one.memory_bytes / 1e6:,.0f} MB"


def _shown_against(one: Observation, need: Need) -> Iterator[str]:
    """Why a measurement at most as heavy as the need shows that it is not met."""
    at = f"already at {next(load_words([one]))}"
    if one.holds_rate_per_s is not None:
        too_much = one.holds_rate_per_s[1]
        if one.limit_ns is not None and one.limit_ns >= need.p99_ns and too_much < need.rate_per_s:
            limit = format_duration(one.limit_ns)
            yield f"with p99 below {limit} it takes {too_much:,.0f} messages/s at most"
        return
    if one.failed is not None:
        yield f"{at} {one.failed}"
        return
    if one.p99_interval_ns is not None and one.p99_interval_ns[0] > need.p99_ns:
        yield f"{at} its p99 is {format_duration(round(one.p99_interval_ns[0]))} or more"
    if one.loss_share > need.loss_share:
        yield f"{at} it lost {one.loss_share:.3%} of the messages"
    if need.memory_bytes is not None and (one.memory_bytes or 0) > need.memory_bytes:
        yield f"{at} it took {(one.memory_bytes or 0) / 1e6:,.0f} MB"


def cores(one: Observation, need: Need) -> float | None:
    """CPUs that the need's messages keep busy, at the measured CPU time of one; None: not known."""
    return None if one.cpu_ns is None else one.cpu_ns * need.rate_per_s / 1e9


def _merits(one: Observation, need: Need) -> Iterator[str]:
    exact = _load(one) == (need.streams, need.rate_per_s)
    yield f"measured with {next(load_words([one]))}" + ("" if exact else ", heavier than asked")
    if one.holds_rate_per_s is not None and one.limit_ns is not None:
        limit = format_duration(one.limit_ns)
        yield f"p99 stayed below {limit} up to {one.holds_rate_per_s[0]:,.0f} messages/s"
    if one.closed_loop:
        yield "in a closed loop, which can't see what a stall does to messages that keep coming"
