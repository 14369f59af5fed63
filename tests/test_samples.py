"""Sample files: what is written is read, bit by bit, and a file cut short or damaged says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedbench.errors import RunDirectoryError
from feedbench.samples import RECORD, Ending, Records, read_samples, write_samples

U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
ROWS = st.lists(st.tuples(U64, U64, U64, U32, U32), max_size=40)


def rows(*sent_received: tuple[int, int]) -> Records:
    return np.array([(sent, sent, received, 0, 0) for sent, received in sent_received], RECORD)


@given(ROWS, st.text(max_size=80))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_bit_comes_back(
    tmp_path_factory: pytest.TempPathFactory, content: list[tuple[int, ...]], name: str
) -> None:
    path = tmp_path_factory.mktemp("samples") / "samples.fbs"
    write_samples(path, np.array(content, RECORD), name=name, drop_first=0.1)
    samples = read_samples(path)
    assert samples.complete
    assert samples.records.tolist() == content
    assert samples.header["name"] == name


def test_the_layout_is_that_of_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "samples.fbs"
    write_samples(path, np.array([(1, 2, 3, 4, 5)], RECORD), name="x", drop_first=0.1)
    content = path.read_bytes()
    length = int.from_bytes(content[12:16], "little")
    assert content[:12] == b"FBSAMPLE\x01\x00\x00\x00"
    assert (16 + length) % 32 == 0
    assert json.loads(content[16 : 16 + length]) == {
        "clock": "CLOCK_MONOTONIC",
        "name": "x",
        "columns": ["intended_ns", "sent_ns", "received_ns", "connection", "slice"],
        "drop_first": 0.1,
    }
    record, footer = content[16 + length : -32], content[-32:]
    assert record.hex() == "0100000000000000020000000000000003000000000000000400000005000000"
    # CRC-32 of those 32 bytes, by the `gzip` program.
    assert footer == b"FBSMPEND" + (1).to_bytes(8, "little") + (0xABB7D632).to_bytes(8, "little") + bytes(8)


def test_no_nanosecond_is_lost_where_a_float_would_lose_it(tmp_path: Path) -> None:
    sent = 2**53 + 1  # 104 days after boot; as a float it is 2^53
    write_samples(tmp_path / "samples.fbs", rows((sent, sent + 1)), name="x")
    samples = read_samples(tmp_path / "samples.fbs")
    assert int(samples.records["sent_ns"][0]) == sent
    assert samples.latency_ns.tolist() == [1]


@pytest.mark.parametrize("missing", [1, 31, 32, 33, 63, 64, 65, 100])
def test_a_file_cut_short_keeps_its_whole_records(tmp_path: Path, missing: int) -> None:
    path = tmp_path / "samples.fbs"
    write_samples(path, rows(*((k, k + 10) for k in range(10))), name="x")
    path.write_bytes(path.read_bytes()[:-missing])
    samples = read_samples(path)
    assert samples.ending is Ending.CUT_SHORT
    assert not samples.complete
    # The footer has 32 bytes; what is missing beyond them is missing from the records.
    whole = (10 * 32 + 32 - missing) // 32
    assert samples.records["sent_ns"].tolist() == list(range(min(10, whole)))


def test_one_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "samples.fbs"
    write_samples(path, rows((1, 2), (3, 4)), name="x")
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)
    assert read_samples(path).ending is Ending.DAMAGED
    assert read_samples(path, verify=False).ending is Ending.COMPLETE


def test_a_wrong_count_is_found_without_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "samples.fbs"
    write_samples(path, rows((1, 2), (3, 4)), name="x")
    content = bytearray(path.read_bytes())
    content[-24] = 3
    path.write_bytes(content)
    assert read_samples(path, verify=False).ending is Ending.DAMAGED


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no sample file"),
        (b"FBSAM", "no sample file"),
        (b"GARBAGE!" + bytes(100), "no sample file"),
        (b"FBSAMPLE" + (2).to_bytes(4, "little") + bytes(20), "version 2"),
        (
            b"FBSAMPLE" + (1).to_bytes(4, "little") + (48).to_bytes(4, "little") + b"{}",
            "cut short or damaged",
        ),
        (b"FBSAMPLE" + (1).to_bytes(4, "little") + (2**31).to_bytes(4, "little"), "cut short or damaged"),
        (b"FBSAMPLE" + (1).to_bytes(4, "little") + (16).to_bytes(4, "little") + b"{" * 16, "no JSON"),
        (
            b"FBSAMPLE" + (1).to_bytes(4, "little") + (16).to_bytes(4, "little") + b"{}" + b" " * 14,
            "other columns",
        ),
    ],
)
def test_what_is_no_sample_file_is_refused_in_words(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "samples.fbs"
    path.write_bytes(content)
    with pytest.raises(RunDirectoryError, match=complaint):
        read_samples(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"nothing\.fbs"):
        read_samples(tmp_path / "nothing.fbs")
