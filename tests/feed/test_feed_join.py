"""What was received is joined with what was sent, by payload and occurrence."""

from collections import defaultdict

import numpy as np
from feed_files import sent
from hypothesis import given
from hypothesis import strategies as st

from feedbench.feed.join import Joined, join, match
from feedbench.feed.ledger import keys_of_messages, keys_of_payloads
from feedbench.feed.received import Received


def joined(received: list[bytes], *payloads: bytes) -> Joined:
    at = np.arange(100, 100 + len(received), dtype=np.uint64)
    return join(Received(at, keys_of_payloads(received), killed=False), sent(*payloads))


def counts(found: Joined) -> tuple[int, int, int, int, int, int]:
    return len(found.sent), found.lost, found.replies, found.unknown, found.duplicated, found.out_of_order


def test_all_that_was_sent_and_received_is_joined() -> None:
    found = joined([b"a", b"b"], b"a", b"b")
    assert counts(found) == (2, 0, 0, 0, 0, 0)
    assert (found.received_ns - found.sent["born_ns"]).tolist() == [100, 100]


def test_true_duplicates_neither_multiply_nor_vanish() -> None:
    found = joined([b"a", b"a", b"b"], b"a", b"b", b"a")
    assert counts(found) == (3, 0, 0, 0, 0, 1)
    assert found.sent["born_ns"].tolist() == [0, 2, 1]


def test_what_did_not_arrive_is_lost_and_what_came_too_often_is_duplicated() -> None:
    assert counts(joined([b"a", b"c", b"a"], b"a", b"b", b"c")) == (2, 1, 0, 0, 1, 0)


def test_what_was_never_sent_is_a_reply_before_the_first_event_and_unknown_after_it() -> None:
    assert counts(joined([b"welcome", b"a", b"x"], b"a")) == (1, 0, 1, 1, 0, 0)


def test_nothing_received_and_nothing_sent_are_joined_too() -> None:
    assert counts(joined([], b"a")) == (0, 1, 0, 0, 0, 0)
    assert counts(joined([b"a"])) == (0, 0, 1, 0, 0, 0)


def test_what_a_fault_spoiled_is_not_lost() -> None:
    nothing = Received(np.empty(0, np.uint64), np.empty(0, np.uint64), killed=False)
    assert join(nothing, sent(b"a", fault=4)).lost == 0


PAYLOADS = st.lists(st.sampled_from([b"a", b"b", b"c", b"dd"]), max_size=40)


@given(PAYLOADS, PAYLOADS)
def test_the_arrays_do_what_the_rule_says(received: list[bytes], payloads: list[bytes]) -> None:
    free = defaultdict(list)
    for place, payload in enumerate(payloads):
        free[payload].append(place)
    expected = [free[payload].pop(0) if free[payload] else -1 for payload in received]
    found = match(keys_of_payloads(received), keys_of_messages(sent(*payloads)))
    assert found.tolist() == expected
