"""Stamps files and ledgers made by hand, byte by byte as spec/feed.md and spec/ledger.md say."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from feedbench.feed.ledger import ALL_SUBSCRIBERS, MESSAGE

TEXT, BINARY, CONNECTED, END = 1, 2, 3, 4


def stamps_bytes(*records: tuple[int, int, bytes]) -> bytes:
    """A file of (received_ns, kind, payload)."""
    head = b"FBSTAMPS" + struct.pack("<II", 1, 0)
    return head + b"".join(
        struct.pack("<QQIB3x", received_ns, 1_700_000_000_000, len(payload), kind) + payload
        for received_ns, kind, payload in records
    )


def message_record(
    payload: bytes,
    *,
    born_ns: int = 0,
    connection: int = ALL_SUBSCRIBERS,
    fault: int = 0,
    recipients: int = 1,
) -> bytes:
    """One message of a ledger; it is sent 10 ns after it was born."""
    body = struct.pack(
        "<BBHIQQQQIIIII",
        *(1, fault, 0, 0, born_ns, born_ns, born_ns + 10, 0, connection, recipients),
        *(len(payload), zlib.crc32(payload), 0),
    )
    return body + struct.pack("<I", zlib.crc32(body))


def name_records(stream: int, name: str) -> list[bytes]:
    text = name.encode()
    parts = [text[at : at + 52] for at in range(0, len(text), 52)]
    bodies = [
        struct.pack("<BBHI52s", 2, len(part), number, stream, part) for number, part in enumerate(parts)
    ]
    return [body + struct.pack("<I", zlib.crc32(body)) for body in bodies]


def end_record(records: int) -> bytes:
    body = struct.pack("<B7xQ44x", 3, records)
    return body + struct.pack("<I", zlib.crc32(body))


def ledger_bytes(records: list[bytes], *, end: bool = True) -> bytes:
    header = json.dumps({"clock": "CLOCK_MONOTONIC", "opened_ns": 0, "opened_unix_ns": 0}).encode()
    header += b" " * (-(16 + len(header)) % 64)
    content = b"FBLEDGER" + struct.pack("<II", 1, len(header)) + header + b"".join(records)
    return content + (end_record(len(records)) if end else b"")


def sent(*payloads: bytes, fault: int = 0) -> NDArray[np.void]:
    """Ledger messages, born at 0, 1, 2, … ns."""
    records = b"".join(
        message_record(payload, born_ns=at, fault=fault) for at, payload in enumerate(payloads)
    )
    return np.frombuffer(records, MESSAGE)
