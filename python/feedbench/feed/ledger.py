"""The exchange's ledger: when each event was born and sent (spec/ledger.md)."""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import RunDirectoryError
from feedbench.target import Door

MAGIC = b"FBLEDGER"
VERSION = 1
ALL_SUBSCRIBERS = 0xFFFFFFFF
MESSAGE = np.dtype(
    [
        ("kind", "u1"),
        ("fault", "u1"),
        ("zero", "<u2"),
        ("stream", "<u4"),
        ("born_ns", "<u8"),
        ("scheduled_ns", "<u8"),
        ("sent_ns", "<u8"),
        ("sequence", "<u8"),
        ("connection", "<u4"),
        ("recipients", "<u4"),
        ("bytes", "<u4"),
        ("crc32", "<u4"),
        ("spread_ns", "<u4"),
        ("checksum", "<u4"),
    ]
)
FIX_WORD = "fix"
_CHECKED_BYTES = 60
_MESSAGE, _NAME, _END = 1, 2, 3
# Over FIX each session puts a header of its own before what all get, and a CheckSum behind it.
_FIX_BEGINNING, _FIX_BODY, _FIX_END = b"8=FIX", b"\x01268=", b"\x0110="
# Numbers that an exchange counts for each connection; length and CRC leave their digits out.
_PER_CONNECTION = re.compile(rb'("(?:sequence_num|socket_sequence)":)\d+')

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Ledger:
    """`messages` (dtype MESSAGE) in the order in which things happened; `complete`: nothing was cut off."""

    header: Mapping[str, Any]
    messages: NDArray[np.void]
    names: Mapping[int, str]
    complete: bool

    def is_for(self, connection: int, door: Door = "ws") -> NDArray[np.bool_]:
        """For each message whether that connection was sent it; without what a planted gap kept from all.

        All of a run's connections through one door are taken to have subscribed to the same streams.
        """
        to = self.messages["connection"]
        mine: NDArray[np.bool_] = (to == connection) | (to == ALL_SUBSCRIBERS)
        is_fix: NDArray[np.bool_] = np.isin(self.messages["stream"], self._fix_streams)
        through: NDArray[np.bool_] = is_fix if door == "fix" else ~is_fix
        return mine & through & (self.messages["recipients"] > 0)

    @property
    def _fix_streams(self) -> list[int]:
        """Their names have the door's behind the personality's: `binance fix BTCUSDT trades`."""
        return [stream for stream, name in self.names.items() if name.split(" ", 2)[1:2] == [FIX_WORD]]

    def of_connection(self, connection: int) -> NDArray[np.void]:
        """What that connection was sent."""
        found: NDArray[np.void] = self.messages[self.is_for(connection)]
        return found


def read_ledger(path: Path) -> Ledger:
    """Every record up to the first that is missing, cut or damaged; RunDirectoryError if it is no ledger."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunDirectoryError(f"cannot read it: {error.strerror}", where=str(path)) from error
    if content[:8] != MAGIC or int.from_bytes(content[8:12], "little") != VERSION:
        raise RunDirectoryError(
            f"this is not a ledger of version {VERSION}",
            where=str(path),
            hint="was the exchange stopped early?",
        )
    begin = 16 + int.from_bytes(content[12:16], "little")
    try:
        header = json.loads(content[16:begin])
    except ValueError as error:
        raise RunDirectoryError(f"the ledger's header is no JSON ({error})", where=str(path)) from error
    records = _whole_records(content, begin)
    ends = np.flatnonzero(records["kind"] == _END)
    complete = bool(ends.size) and int(records["born_ns"][ends[0]]) == int(ends[0])
    if ends.size:
        records = records[: ends[0]]
    return Ledger(header, records[records["kind"] == _MESSAGE], _names(records), complete)


def _whole_records(content: bytes, begin: int) -> NDArray[np.void]:
    count = max(0, len(content) - begin) // MESSAGE.itemsize
    records = np.frombuffer(content, MESSAGE, count=count, offset=begin) if count else np.empty(0, MESSAGE)
    view = memoryview(content)
    starts = range(begin, begin + count * MESSAGE.itemsize, MESSAGE.itemsize)
    checksums = np.fromiter(
        (zlib.crc32(view[at : at + _CHECKED_BYTES]) for at in starts), dtype=np.uint32, count=count
    )
    wrong = np.flatnonzero(checksums != records["checksum"])
    return records[: wrong[0]] if wrong.size else records


def _names(records: NDArray[np.void]) -> dict[int, str]:
    """Names come in parts of at most 52 bytes, in order."""
    names: defaultdict[int, bytes] = defaultdict(bytes)
    for record in records[records["kind"] == _NAME]:
        body = record.tobytes()
        names[int(record["stream"])] += body[8 : 8 + body[1]]
    return {stream: name.decode() for stream, name in names.items()}


def shared_part(payload: bytes) -> bytes:
    """A payload without what the exchange numbers for each connection, as the ledger knows it: over FIX
    market data from NoMDEntries (268) to before CheckSum.
    """
    if payload.startswith(_FIX_BEGINNING):
        begin, end = payload.find(_FIX_BODY), payload.rfind(_FIX_END)
        return payload if begin < 0 or end < begin else payload[begin + 1 : end + 1]
    return _PER_CONNECTION.sub(rb"\1", payload) if b"sequence" in payload else payload


def key_of(payload: bytes) -> tuple[int, int]:
    """Length and CRC-32 by which the ledger knows a payload."""
    shared = shared_part(payload)
    return len(shared), zlib.crc32(shared)


def keys_of_payloads(payloads: Iterable[bytes]) -> Keys:
    """Length and CRC-32 of each payload in one number."""
    return np.fromiter((length << 32 | crc for length, crc in map(key_of, payloads)), dtype=np.uint64)


def keys_of_messages(messages: NDArray[np.void]) -> Keys:
    """The same for messages of the ledger."""
    return messages["bytes"].astype(np.uint64) << np.uint64(32) | messages["crc32"].astype(np.uint64)
