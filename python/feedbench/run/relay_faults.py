"""What a relay made of a planted fault: pure, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from feedbench.feed.relay_measured import Course, MeasuredRelay
from feedbench.run.own_client import summarise

Policy = Literal["disconnected", "dropped", "kept", "back-pressure", "not tested"]

# Who is fed later than this has been waiting for somebody, not for a CPU.
HELD_BACK_NS = 1_000_000_000
# What the kernel's buffers of one loopback connection can hold (net.ipv4.tcp_wmem, usually): a relay whose
# client leaves less than this unread has not been asked what it does.
KERNEL_BUFFER_BYTES = 4 << 20


def slow_consumer(found: MeasuredRelay, *, memory_growth_bytes: int) -> dict[str, Any]:
    """The relay's policy towards a client that stopped reading, and what the others felt of it.

    `memory_growth_bytes`: how much larger the relay was at the end than before the market opened.
    """
    slow = found.slow[0]
    before, after = [], []
    for course in found.readers:
        joined = course.joined
        age_ns = joined.received_ns.astype(np.int64) - joined.sent["born_ns"].astype(np.int64)
        late = joined.sent["born_ns"] >= (slow.stopped_ns or np.iinfo(np.uint64).max)
        before.append(age_ns[~late])
        after.append(age_ns[late])
    unread_bytes = _unread_bytes(found, slow)
    return {
        "policy": policy(found, unread_bytes=unread_bytes),
        "unread_bytes": unread_bytes,
        "memory_growth_bytes": memory_growth_bytes,
        "slow_lost": slow.joined.lost,
        "others_before_ns": summarise(np.concatenate(before)),
        "others_after_ns": summarise(np.concatenate(after)),
    }


def policy(found: MeasuredRelay, *, unread_bytes: int) -> Policy:
    """`kept`: all that was sent meanwhile came when the client read again, so somebody held it."""
    slow = found.slow[0]
    if slow.thrown_out:
        return "disconnected"
    if slow.stopped_ns is None:
        return "not tested"
    if _held_back(found, slow.stopped_ns):
        return "back-pressure"
    joined = slow.joined
    # What is missing at the end alone was still on its way through the small window when the clients left.
    if joined.lost and len(joined.place) and joined.lost_place[0] < joined.place.max():
        return "dropped"
    return "kept" if unread_bytes > KERNEL_BUFFER_BYTES else "not tested"


def _unread_bytes(found: MeasuredRelay, slow: Course) -> int:
    """What was sent from its last read on."""
    if slow.stopped_ns is None:
        return 0
    unread = found.messages["born_ns"] >= slow.stopped_ns
    return int(found.messages["bytes"][unread].sum())


def _held_back(found: MeasuredRelay, stopped_ns: int) -> bool:
    """Whether the other clients had most of what was sent after the stop late, or never."""
    sent = int(np.count_nonzero(found.messages["born_ns"] >= stopped_ns))
    if not sent:
        return False
    shares = []
    for course in found.readers:
        born_ns = course.joined.sent["born_ns"].astype(np.int64)
        in_time = (born_ns >= stopped_ns) & (
            course.joined.received_ns.astype(np.int64) - born_ns < HELD_BACK_NS
        )
        shares.append(np.count_nonzero(in_time) / sent)
    return float(np.mean(shares)) < 0.5


def upstream_loss(found: MeasuredRelay) -> dict[str, Any]:
    """Whether it went on, without repeating or swapping anything; what it missed, the gap says."""
    had = np.zeros(len(found.messages), dtype=bool)
    for course in found.readers:
        had[course.joined.place] = True
    places = np.flatnonzero(had)
    missed = 0
    longest_gap_ns = 0
    if len(places):
        missed = int(places[-1] - places[0] + 1 - len(places))
        born_ns = found.messages["born_ns"].astype(np.int64)
        longest_gap_ns = int(np.diff(born_ns[places]).max(initial=0))
    joined = [course.joined for course in found.readers]
    resumed = len(places) > 0 and places[-1] > 0.9 * (len(found.messages) - 1)
    return {
        "resumed": bool(resumed),
        "missed": missed,
        "longest_gap_ns": longest_gap_ns,
        "duplicated": sum(one.duplicated for one in joined),
        "out_of_order": sum(one.out_of_order for one in joined),
        "clients_thrown_out": sum(len(course.begins) - 1 for course in found.readers),
    }


def storm(said: Mapping[str, Any]) -> dict[str, Any]:
    """As the subscribers timed it; `all_back_ns` is None if somebody never came back."""
    told = said.get("storm") or {}
    return {name: told.get(name) for name in ("all_back_ns", "back", "refused")}
