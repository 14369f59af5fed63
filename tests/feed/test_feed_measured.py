"""What of a client's record counts: after the warm-up, and after the head of each slice."""

from __future__ import annotations

import numpy as np
from feed_files import message_record
from feed_settings import FEED

from feedbench.feed.ledger import MESSAGE, Ledger, keys_of_payloads
from feedbench.feed.measured import MeasuredFeed, Window, measure
from feedbench.feed.received import Received
from feedbench.load import Load
from feedbench.protocol import Expect, Protocol
from feedbench.run.feed_result import judge_feed, load_document, window_of
from feedbench.samples import RECORD

# Two connections take turns of 100 ns from 1,000 ns on, 10 ns between messages; a message is its own number.
TURNS = [0, 1, 1, 0]
BORN_NS = [1_000 + 100 * turn + 10 * place for turn in range(len(TURNS)) for place in range(10)]


def ledger() -> Ledger:
    records = b"".join(
        message_record(str(number).encode(), born_ns=born_ns, connection=TURNS[number // 10])
        for number, born_ns in enumerate(BORN_NS)
    )
    return Ledger({"opened_ns": 1_000}, np.frombuffer(records, MESSAGE), {}, complete=True)


def received(numbers: list[int]) -> Received:
    at = np.array([BORN_NS[number] + 50 for number in numbers], dtype=np.uint64)
    return Received(at, keys_of_payloads(str(number).encode() for number in numbers), killed=False)


def measured(numbers: list[int], *, connection: int, warmup_ns: int = 0, drop_ns: int = 0) -> MeasuredFeed:
    window = Window(warmup_ns=warmup_ns, sliced=True, drop_ns=drop_ns)
    return measure(received(numbers), ledger(), connection, window)


ALL_OF_0 = [*range(10), *range(30, 40)]


def test_each_has_the_messages_of_its_own_slices() -> None:
    found = measured(ALL_OF_0, connection=0)
    assert found.measured.dtype == RECORD
    assert found.measured["slice"].tolist() == [0] * 10 + [1] * 10
    assert (found.measured["received_ns"] - found.measured["intended_ns"] == 50).all()
    assert (found.measured["sent_ns"] - found.measured["intended_ns"] == 10).all()
    assert (found.slices, found.lost, found.joined.lost) == (2, 0, 0)


def test_the_head_of_a_slice_and_the_warm_up_do_not_count() -> None:
    found = measured(ALL_OF_0, connection=0, warmup_ns=150, drop_ns=30)
    assert found.measured["intended_ns"].tolist() == BORN_NS[33:40]
    assert found.measured["slice"].tolist() == [0] * 7
    assert len(found.warm) == 13


def test_two_turns_in_a_row_are_one_slice() -> None:
    found = measured(list(range(10, 30)), connection=1, drop_ns=30)
    assert (found.slices, len(found.measured)) == (1, 17)


def test_a_message_lost_in_the_warm_up_is_lost_all_the_same() -> None:
    found = measured(ALL_OF_0[1:], connection=0, warmup_ns=150)
    assert (found.lost, found.joined.lost) == (0, 1)
    outcome = judge_feed(found, Expect())
    assert (outcome.verdict, outcome.cause) == ("failed", "of 20 sent, 1 messages lost (0 allowed)")
    assert judge_feed(found, Expect(lost=1)).verdict == "ok"


def test_nothing_in_the_measured_part_is_no_result() -> None:
    found = measured(ALL_OF_0, connection=0, warmup_ns=10_000)
    assert judge_feed(found, Expect()).verdict == "failed"


def test_all_at_once_counts_everything_after_the_warm_up() -> None:
    window = Window(warmup_ns=50, sliced=False, drop_ns=1_000_000)
    found = measure(received(ALL_OF_0), ledger(), 0, window)
    assert (found.slices, len(found.measured)) == (1, 15)


def test_the_result_keeps_the_laws_of_a_cell() -> None:
    found = measured(ALL_OF_0[:-1], connection=0, drop_ns=30)
    document = load_document(found, name="cell", load=Load.of_feed(FEED), protocol=Protocol())
    assert document["sent"] == document["received"] + document["lost"]
    assert document["latency_ns"]["p50"] == 50
    assert (document["sent_total"], document["received_total"], document["lost_total"]) == (20, 19, 1)
    assert window_of(Protocol(warmup_ns=5), FEED, 3).warmup_ns == 15


def test_a_clock_that_was_read_too_early_is_named() -> None:
    early = Received(received(ALL_OF_0).received_ns - np.uint64(60), received(ALL_OF_0).keys, killed=False)
    found = measure(early, ledger(), 0, Window(warmup_ns=0, sliced=True, drop_ns=0))
    document = load_document(found, name="cell", load=Load.of_feed(FEED), protocol=Protocol())
    assert document["latency_ns"]["p50"] == document["latency_ns"]["mean"] == -10
    outcome = judge_feed(found, Expect())
    assert outcome.verdict == "failed"
    assert "20 of 20 messages are stamped before they were sent" in (outcome.cause or "")
