"""Stamps files and ledgers are read as far as they are whole, and what they are not is told exactly."""

import struct
from pathlib import Path

import pytest
from feed_files import (
    BINARY,
    CONNECTED,
    END,
    TEXT,
    ledger_bytes,
    message_record,
    name_records,
    stamps_bytes,
)

from feedbench.errors import RunDirectoryError
from feedbench.feed.ledger import key_of, read_ledger
from feedbench.feed.stamps import Ending, read_stamps

WHOLE = stamps_bytes(
    (5, CONNECTED, b""), (6, TEXT, "ä".encode()), (7, BINARY, b"\xff" * 300), (9, END, b"lost: x")
)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content)
    return path


def test_a_whole_stamps_file_gives_its_messages_and_how_it_ended(tmp_path: Path) -> None:
    stamps = read_stamps(written(tmp_path, WHOLE))
    assert list(stamps.payloads()) == ["ä".encode(), b"\xff" * 300]
    assert stamps.heads["received_ns"][stamps.is_message].tolist() == [6, 7]
    assert (stamps.ending, stamps.connections, stamps.reasons) == (Ending.ENDED, 1, ["lost: x"])


def test_a_stamps_file_cut_at_any_byte_gives_its_whole_records(tmp_path: Path) -> None:
    ends = [16, 16 + 24, 16 + 48 + 2, 16 + 72 + 302]
    for size in range(len(WHOLE)):
        stamps = read_stamps(written(tmp_path, WHOLE[:size]))
        assert len(stamps.heads) == sum(end <= size for end in ends[1:])
        assert stamps.ending is (Ending.KILLED if size in ends else Ending.CUT_SHORT)


def test_a_client_that_goes_on_adds_a_connection(tmp_path: Path) -> None:
    second = stamps_bytes((20, CONNECTED, b""), (21, TEXT, b"b"))[16:]
    stamps = read_stamps(written(tmp_path, stamps_bytes((1, CONNECTED, b""), (2, TEXT, b"a")) + second))
    assert (stamps.connections, list(stamps.payloads()), stamps.ending) == (2, [b"a", b"b"], Ending.KILLED)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"SQLite format 3\0" + bytes(84), "no stamps file"),
        (b"FBSTAMPS" + struct.pack("<II", 2, 0), "version 2"),
        (stamps_bytes((1, 9, b"")), "unknown kind 9 at byte 16"),
    ],
)
def test_what_is_no_stamps_file_is_named(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=told):
        read_stamps(written(tmp_path, content))
    with pytest.raises(RunDirectoryError, match="No such file"):
        read_stamps(tmp_path / "nothing")


def test_a_ledger_gives_messages_and_names_of_any_length(tmp_path: Path) -> None:
    name = "binance " + "x" * 100
    records = [*name_records(0, name), message_record(b"a", born_ns=7), message_record(b"b", connection=3)]
    ledger = read_ledger(written(tmp_path, ledger_bytes(records)))
    assert ledger.names == {0: name}
    assert ledger.complete
    assert ledger.messages["born_ns"].tolist() == [7, 0]
    assert len(ledger.of_connection(3)) == 2
    assert len(ledger.of_connection(0)) == 1


def test_a_ledger_is_read_up_to_what_is_cut_or_damaged(tmp_path: Path) -> None:
    records = [message_record(letter) for letter in (b"a", b"b", b"c")]
    whole = ledger_bytes(records)
    cut = read_ledger(written(tmp_path, whole[:-65]))
    assert (len(cut.messages), cut.complete) == (2, False)
    damaged = bytearray(whole)
    damaged[-64 - 2 * 64 + 20] ^= 1  # within the second record
    assert len(read_ledger(written(tmp_path, bytes(damaged))).messages) == 1
    missing = read_ledger(written(tmp_path, ledger_bytes(records, end=False)))
    assert (len(missing.messages), missing.complete) == (3, False)


def test_what_a_gap_kept_from_everybody_was_not_sent(tmp_path: Path) -> None:
    records = [message_record(b"a"), message_record(b"b", fault=1, recipients=0)]
    assert len(read_ledger(written(tmp_path, ledger_bytes(records))).of_connection(0)) == 1


def test_numbers_of_a_connection_are_not_part_of_a_payload() -> None:
    assert key_of(b'{"socket_sequence":7,"x":1}') == key_of(b'{"socket_sequence":12345,"x":1}')
    assert key_of(b'{"sequence":7}') != key_of(b'{"sequence":8}')
