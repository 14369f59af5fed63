"""What one relay did, from receipts and a ledger made by hand."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from feed_files import sent

from feedbench.feed.ledger import Ledger, key_of
from feedbench.feed.measured import Window
from feedbench.feed.receipts import RECEIPT, Happened, Receipts
from feedbench.feed.received import Received
from feedbench.feed.relay import Relay
from feedbench.feed.relay_measured import (
    MeasuredRelay,
    entrance_age_ns,
    inside_ns,
    measure_relay,
    skew_ns,
)
from feedbench.protocol import Expect
from feedbench.run.relay_faults import KERNEL_BUFFER_BYTES, policy, slow_consumer, upstream_loss
from feedbench.run.relay_result import flaws_of, judge_relay

WINDOW = Window(warmup_ns=0, sliced=False, drop_ns=0)
PAYLOADS = [f"event {number}".encode() for number in range(10)]
SECOND_NS = 1_000_000_000

Event = tuple[int, int, Happened, bytes]


def receipts(subscribers: int, *events: Event) -> Receipts:
    """Of (at_ns, subscriber, what, payload)."""
    records = np.zeros(len(events), RECEIPT)
    for place, (at_ns, subscriber, kind, payload) in enumerate(events):
        crc32 = zlib.crc32(payload) if payload else 0
        records[place] = (at_ns, subscriber, len(payload), crc32, kind, 0)
    return Receipts(subscribers, records)


def follows(subscriber: int, numbers: list[int], *, delay_ns: int = 100, every_ns: int = 1) -> list[Event]:
    """It connects, and has these of the payloads `delay_ns` after their birth."""
    texts = [
        (number * every_ns + delay_ns, subscriber, Happened.TEXT, PAYLOADS[number]) for number in numbers
    ]
    return [(0, subscriber, Happened.CONNECTED, b""), *texts]


def ledger(*, every_ns: int = 1, recipients: list[int] | None = None) -> Ledger:
    messages = sent(*PAYLOADS).copy()
    messages["born_ns"] *= every_ns
    messages["sent_ns"] = messages["born_ns"] + 10
    if recipients is not None:
        messages["recipients"] = recipients
    return Ledger({"opened_ns": 0}, messages, {}, True)


def entered(numbers: list[int], *, delay_ns: int = 40) -> Received:
    keys = [length << 32 | crc for length, crc in (key_of(PAYLOADS[number]) for number in numbers)]
    at_ns = np.array([number + delay_ns for number in numbers], dtype=np.uint64)
    return Received(at_ns, np.array(keys, dtype=np.uint64), killed=False)


def measured(
    *events: Event,
    clients: int = 2,
    fault: str = "none",
    entrance: list[int] | None = None,
    of: Ledger | None = None,
) -> MeasuredRelay:
    relay = Relay.from_settings({"clients": clients, "upstream": "one", "fault": fault})
    record = None if entrance is None else entered(entrance)
    return measure_relay(receipts(clients, *events), record, of or ledger(), 0, WINDOW, relay)


ALL = list(range(10))


def test_each_hop_is_told_by_its_own_stamps() -> None:
    found = measured(*follows(0, ALL), *follows(1, ALL, delay_ns=130), entrance=ALL)
    assert judge_relay(found, Expect()).verdict == "ok"
    assert set(entrance_age_ns(found).tolist()) == {40}
    assert sorted(set(inside_ns(found).tolist())) == [60, 90]
    assert skew_ns(found).tolist() == [30] * 10
    ages = found.measured["received_ns"] - found.measured["intended_ns"]
    assert sorted(set(ages.tolist())) == [100, 130]
    assert set(found.measured["connection"].tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("numbers", "flaws"),
    [
        ([0, 1, 2, 4, 5, 6, 7, 8, 9], {"lost": 1}),
        ([0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9], {"duplicated": 1}),
        ([0, 1, 2, 4, 3, 5, 6, 7, 8, 9], {"out_of_order": 1}),
    ],
)
def test_a_relay_that_forgets_repeats_or_swaps_has_failed(numbers: list[int], flaws: dict[str, int]) -> None:
    found = measured(*follows(0, ALL), *follows(1, numbers))
    assert flaws_of(found) == {"lost": 0, "duplicated": 0, "out_of_order": 0, "wrong": 0} | flaws
    outcome = judge_relay(found, Expect())
    assert outcome.verdict == "failed"
    assert next(iter(flaws)).replace("_", " ") in str(outcome.cause)


def test_a_message_that_nobody_sent_is_wrong() -> None:
    events = follows(0, ALL)
    events.insert(5, (1, 0, Happened.TEXT, b"invented"))
    assert flaws_of(measured(*events, clients=1))["wrong"] == 1


def test_only_what_all_readers_had_has_a_skew() -> None:
    found = measured(*follows(0, ALL), *follows(1, ALL[:4], delay_ns=130))
    assert skew_ns(found).tolist() == [30] * 4


def test_who_was_away_in_a_storm_has_lost_nothing() -> None:
    away: list[Event] = [(200, 0, Happened.LEFT, b""), (300, 0, Happened.CONNECTED, b"")]
    events = [*follows(0, [0, 1, 2]), *away, *follows(0, [6, 7, 8, 9], delay_ns=400)[1:]]
    found = measured(*events, clients=1, fault="storm")
    assert flaws_of(found)["lost"] == 0
    assert found.away == 3
    forgets = [*follows(0, [0, 2]), *away, *follows(0, [6, 7, 8, 9], delay_ns=400)[1:]]
    assert flaws_of(measured(*forgets, clients=1, fault="storm"))["lost"] == 1


def test_a_lost_upstream_says_what_is_missing() -> None:
    # While nobody was connected the exchange sent to nobody.
    of = ledger(recipients=[1, 1, 1, 1, 0, 0, 0, 1, 1, 1])
    had = [0, 1, 2, 3, 7, 8, 9]
    found = measured(*follows(0, had), *follows(1, had), fault="upstream-loss", entrance=had, of=of)
    assert judge_relay(found, Expect()).verdict == "ok"
    told = upstream_loss(found)
    assert (told["resumed"], told["missed"], told["longest_gap_ns"]) == (True, 3, 4)
    assert (told["duplicated"], told["out_of_order"], told["clients_thrown_out"]) == (0, 0, 0)


def test_what_entered_and_did_not_leave_is_lost() -> None:
    had = [0, 1, 2, 3, 7, 8, 9]
    found = measured(*follows(0, had), *follows(1, [0, 1, 2, 7, 8, 9]), fault="upstream-loss", entrance=had)
    assert flaws_of(found)["lost"] == 1


def test_a_relay_that_never_comes_back_has_not_resumed() -> None:
    had = [0, 1, 2]
    found = measured(*follows(0, had), clients=1, fault="upstream-loss", entrance=had)
    assert not upstream_loss(found)["resumed"]


STOPPED_AT = 3
LARGE = KERNEL_BUFFER_BYTES + 1


def slow(
    *,
    later: list[int],
    thrown_out: bool = False,
    ended: bool = False,
    others: list[int] | None = None,
    others_ns: int = 100,
) -> MeasuredRelay:
    """Client 0 stops after three messages, and has `later` when it reads again; client 1 reads on."""
    every_ns = SECOND_NS // 100
    stop_ns = STOPPED_AT * every_ns
    ends: list[Event] = [(stop_ns, 0, Happened.STOPPED, b"")]
    if thrown_out:
        ends.append((stop_ns + 5, 0, Happened.ENDED, b""))
    else:
        ends.append((9 * SECOND_NS, 0, Happened.RESUMED, b""))
        ends += [(9 * SECOND_NS, 0, Happened.TEXT, PAYLOADS[number]) for number in later]
    if ended:
        ends.append((9 * SECOND_NS + 1, 0, Happened.ENDED, b""))
    reads = [0, 1, 2]
    events = [
        *follows(0, reads, every_ns=every_ns),
        *ends,
        *follows(1, others or ALL, every_ns=every_ns, delay_ns=others_ns),
    ]
    return measured(*events, fault="slow-consumer", of=ledger(every_ns=every_ns))


@pytest.mark.parametrize(
    ("found", "unread_bytes", "expected"),
    [
        (slow(later=[], thrown_out=True), LARGE, "disconnected"),
        (slow(later=[3, 4], ended=True), LARGE, "disconnected"),
        (slow(later=[3, 4]), LARGE, "kept"),
        (slow(later=ALL[3:]), LARGE, "kept"),
        (slow(later=ALL[3:]), 1000, "not tested"),
        (slow(later=[8, 9]), LARGE, "dropped"),
        (slow(later=ALL[3:], others_ns=2 * SECOND_NS), LARGE, "back-pressure"),
        (slow(later=ALL[3:], others=[0, 1, 2]), LARGE, "back-pressure"),
    ],
)
def test_the_policy_towards_a_slow_consumer_is_told(
    found: MeasuredRelay, unread_bytes: int, expected: str
) -> None:
    assert policy(found, unread_bytes=unread_bytes) == expected


def test_what_the_others_felt_is_told_before_and_after_the_stop() -> None:
    found = slow(later=ALL[3:])
    told = slow_consumer(found, memory_growth_bytes=7)
    assert told["others_before_ns"]["count"] == 3
    assert told["others_after_ns"]["count"] == 7
    assert told["others_after_ns"]["p99"] == 100
    assert told["memory_growth_bytes"] == 7
    # The slow one's ages are not the readers'.
    assert set(found.measured["connection"].tolist()) == {1}


def test_a_client_that_never_stopped_was_no_test() -> None:
    found = slow(later=ALL[3:])
    unstopped = replace(found, slow=(replace(found.slow[0], stopped_ns=None),))
    assert policy(unstopped, unread_bytes=LARGE) == "not tested"
