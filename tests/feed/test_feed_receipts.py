"""Receipts of many subscribers: read whole or not at all, and joined with what the exchange says it sent."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from feedbench.errors import EngineError, RunDirectoryError
from feedbench.feed.exchange import run_exchange
from feedbench.feed.join import join
from feedbench.feed.ledger import read_ledger
from feedbench.feed.receipts import Happened, is_message, keys_of_receipts, read_receipts
from feedbench.feed.received import Received
from feedbench.feed.settings import FEED_DEFAULTS, Feed
from feedbench.feed.subscribers import run_subscribers
from feedbench.paths import Project

PROJECT = Project.find(Path(__file__).parent)
built = pytest.mark.skipif(
    not (PROJECT.exchange.exists() and PROJECT.engine.exists()), reason="engine and exchange are not built"
)


def receipts_bytes(*records: tuple[int, int, int, bytes], subscribers: int = 2) -> bytes:
    """A file of (at_ns, subscriber, kind, payload)."""
    header = json.dumps({"clock": "CLOCK_MONOTONIC", "url": "ws://x/", "subscribers": subscribers}).encode()
    header += b" " * (-len(header) % 24)
    body = b"".join(
        struct.pack("<QIIIB3x", at_ns, subscriber, len(payload), zlib.crc32(payload), kind)
        for at_ns, subscriber, kind, payload in records
    )
    footer = b"FBRECEND" + struct.pack("<QQ", len(records), zlib.crc32(body))
    return b"FBRECEIP" + struct.pack("<II", 1, len(header)) + header + body + footer


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "receipts"
    file.write_bytes(receipts_bytes((1, 0, 3, b""), (2, 1, 3, b""), (3, 1, 1, b"one"), (4, 0, 1, b"one")))
    read = read_receipts(file)
    first, second = read.each()
    assert [int(at_ns) for at_ns in first["at_ns"]] == [1, 4]
    assert [int(at_ns) for at_ns in second["at_ns"]] == [2, 3]
    assert is_message(second).tolist() == [False, True]
    assert second["kind"][0] == Happened.CONNECTED


def test_a_subscriber_without_any_record_is_there_too(tmp_path: Path) -> None:
    file = tmp_path / "receipts"
    file.write_bytes(receipts_bytes((1, 1, 1, b"x"), subscribers=3))
    assert [len(records) for records in read_receipts(file).each()] == [0, 1, 0]


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (lambda content: content[:-10], "cut short or damaged"),
        (lambda content: content[:-30] + b"x" + content[-29:], "cut short or damaged"),
        (lambda content: b"FBSTAMPS" + content[8:], "no file of receipts"),
        (lambda content: content[:8] + b"\x02" + content[9:], "of version 1"),
        (lambda content: b"", "no file of receipts"),
    ],
)
def test_a_spoilt_file_is_refused(tmp_path: Path, spoilt: object, words: str) -> None:
    file = tmp_path / "receipts"
    assert callable(spoilt)
    file.write_bytes(spoilt(receipts_bytes((1, 0, 1, b"one"))))
    with pytest.raises(RunDirectoryError, match=words):
        read_receipts(file)


@built
@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("personality", "path"),
    [("binance", "/ws/btcusdt@bookTicker/btcusdt@trade"), ("gemini", "/v1/marketdata/BTCUSD")],
)
def test_every_subscriber_had_what_the_exchange_sent(tmp_path: Path, personality: str, path: str) -> None:
    feed = Feed.from_settings(
        {**FEED_DEFAULTS, "design": "parallel", "rate": 300, "faults": ()},
        {"personality": personality, "path": path},
    )
    ledger = tmp_path / "ledger"
    with (
        run_exchange(
            PROJECT.exchange,
            feed,
            seed=1,
            duration_ns=1_000_000_000,
            wait_for=3,
            slice_ns=None,
            ledger=ledger,
            log=tmp_path / "exchange.log",
            cpus=(),
            spins=False,
        ) as exchange,
        run_subscribers(
            PROJECT.engine,
            exchange.url(feed),
            count=3,
            receipts=tmp_path / "receipts",
            log=tmp_path / "subscribers.log",
            deadline_s=30.0,
        ) as subscribers,
    ):
        exchange.process.wait(60)
        said = subscribers.finish()
    messages = read_ledger(ledger)
    receipts = read_receipts(tmp_path / "receipts")
    assert said["received_total"] == sum(part["received"] for part in said["each"])
    for connection, records in enumerate(receipts.each()):
        arrived = records[is_message(records)]
        received = Received(arrived["at_ns"], keys_of_receipts(arrived), killed=False)
        joined = join(received, messages.of_connection(connection))
        assert len(joined.place) > 50
        assert (joined.lost, joined.duplicated, joined.unknown, joined.out_of_order) == (0, 0, 0, 0)
        assert (np.diff(joined.received_ns.astype(np.int64)) >= 0).all()
        assert (joined.received_ns > joined.sent["sent_ns"]).all()


@built
@pytest.mark.end_to_end
def test_subscribers_of_nobody_are_an_error_with_the_cause(tmp_path: Path) -> None:
    with (
        pytest.raises(EngineError, match="not all of 2 subscribers connected") as caught,
        run_subscribers(
            PROJECT.engine,
            "ws://127.0.0.1:1/feed",
            count=2,
            receipts=tmp_path / "receipts",
            log=tmp_path / "log",
            deadline_s=30.0,
        ),
    ):
        raise AssertionError("nobody listens there")
    assert "is the server running" in str(caught.value)
