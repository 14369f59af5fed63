"""A connection's messages are found in the ledger where they were sent, and what is not there is named."""

from pathlib import Path

import pytest
from trial_files import ledger_bytes

from exchange_conformance.errors import ConformanceError
from exchange_conformance.ledger import ALL_SUBSCRIBERS, Ledger, Sent, key_of, prove, read_ledger


def ledger(*sent: tuple[str, int], connection: int = ALL_SUBSCRIBERS) -> Ledger:
    """Payloads with the number of their stream."""
    messages = [
        Sent(stream=stream, connection=connection, recipients=1, fault=0, key=key_of(payload.encode()))
        for payload, stream in sent
    ]
    return Ledger(messages, {1: "binance a", 2: "binance b"}, complete=True)


def of_stream(*payloads: str) -> Ledger:
    return ledger(*((payload, 1) for payload in payloads))


def payloads(*texts: str) -> list[bytes]:
    return [text.encode() for text in texts]


def test_all_that_was_received_is_found_whenever_the_connection_began() -> None:
    proof = prove(payloads("c", "d"), of_stream("a", "b", "c", "d", "e"))
    assert (proof.found, proof.strangers, proof.lost, proof.complaint) == (2, [], {}, None)


def test_a_payload_that_was_also_sent_long_before_is_found_where_it_belongs() -> None:
    sent = of_stream("same", "x", "y", "same", "once", "same", "z")
    assert prove(payloads("same", "once", "same"), sent).complaint is None


def test_what_lies_between_and_did_not_arrive_is_lost() -> None:
    proof = prove(payloads("a", "c", "e"), of_stream("a", "b", "c", "d", "e", "f"))
    assert proof.lost == {"binance a": 2}
    assert proof.complaint == "2 messages of 'binance a' are in the ledger and did not arrive"


def test_what_was_never_sent_so_is_a_stranger() -> None:
    proof = prove(payloads("a", "forged", "b"), of_stream("a", "b"))
    assert proof.strangers == ["forged"]


def test_what_came_twice_was_sent_once() -> None:
    assert prove(payloads("a", "b", "b"), of_stream("a", "b", "c")).strangers == ["b"]


def test_a_payload_of_two_streams_belongs_to_the_one_that_was_subscribed_to() -> None:
    sent = ledger(("t1", 1), ("t1", 2), ("only a", 1), ("t2", 2), ("t2", 1), ("t3", 2), ("t4", 1))
    proof = prove(payloads("t1", "only a", "t2", "t4"), sent)
    assert (proof.found, proof.lost) == (4, {})


def test_of_two_payloads_with_one_length_and_checksum_the_one_that_is_due_was_received() -> None:
    one, other = '{"p":"29685295"}', '{"p":"32060020"}'
    assert key_of(one.encode()) == key_of(other.encode())
    sent = ledger(("a1", 1), (one, 2), ("a2", 1), ("a3", 1), (other, 1), ("a4", 1))
    proof = prove(payloads("a1", one, "a2", "a3", other, "a4"), sent)
    assert (proof.found, proof.complaint) == (6, None)


def test_numbers_that_are_counted_for_each_connection_are_left_out() -> None:
    assert key_of(b'{"sequence_num":7,"x":1}') == key_of(b'{"sequence_num":12345,"x":1}')
    assert key_of(b'{"socket_sequence":7}') == key_of(b'{"socket_sequence":8}')
    assert key_of(b'{"sequence":7}') != key_of(b'{"sequence":8}')


def test_of_a_ledger_of_single_connections_the_one_that_explains_most_is_ours() -> None:
    ours = ledger(("a", 1), ("b", 1), ("c", 1), connection=5).messages
    others = ledger(("a", 1), ("b spoiled", 1), ("c", 1), connection=6).messages
    both = Ledger([*ours, *others], {1: "binance a"}, complete=True)
    assert prove(payloads("a", "b", "c"), both).complaint is None
    assert prove(payloads("a", "c"), both).complaint is not None


def test_nothing_received_proves_nothing() -> None:
    assert prove([], of_stream("a")).complaint == "none of its messages is in the ledger"


def test_a_ledger_is_read_up_to_the_first_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    whole = ledger_bytes(["a", "b", "c"])
    path.write_bytes(whole)
    assert (len(read_ledger(path).messages), read_ledger(path).complete) == (3, True)
    path.write_bytes(whole[:-1])
    assert (len(read_ledger(path).messages), read_ledger(path).complete) == (3, False)
    # The last message's record is the one before the end.
    damaged = bytearray(whole)
    damaged[-64 - 10] ^= 1
    path.write_bytes(damaged)
    assert (len(read_ledger(path).messages), read_ledger(path).complete) == (2, False)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"")
    with pytest.raises(ConformanceError, match="is not a ledger of version 1"):
        read_ledger(path)
