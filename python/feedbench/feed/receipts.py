"""What many subscribers of one feed had when: the file of `feedbench-engine subscribe` (spec/feed.md)."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import RunDirectoryError
from feedbench.feed.ledger import Keys

MAGIC, END_MAGIC = b"FBRECEIP", b"FBRECEND"
VERSION = 1
RECEIPT = np.dtype(
    [
        ("at_ns", "<u8"),
        ("subscriber", "<u4"),
        ("bytes", "<u4"),
        ("crc32", "<u4"),
        ("kind", "u1"),
        ("zero", "u1", 3),
    ]
)


class Happened(IntEnum):
    """What a record tells of its subscriber."""

    TEXT = 1
    BINARY = 2
    CONNECTED = 3
    ENDED = 4
    LEFT = 5
    STOPPED = 6
    RESUMED = 7


@dataclass(frozen=True)
class Receipts:
    """`records` (dtype RECEIPT) of all subscribers, in the order in which things happened."""

    subscribers: int
    records: NDArray[np.void]

    def each(self) -> list[NDArray[np.void]]:
        """The records of each subscriber, by number."""
        order = np.argsort(self.records["subscriber"], kind="stable")
        ordered = self.records[order]
        bounds = np.searchsorted(ordered["subscriber"], np.arange(1, self.subscribers))
        return list(np.split(ordered, bounds))


def is_message(records: NDArray[np.void]) -> NDArray[np.bool_]:
    return np.isin(records["kind"], (Happened.TEXT, Happened.BINARY))


def keys_of_receipts(messages: NDArray[np.void]) -> Keys:
    """Length and CRC-32 in one number, as `keys_of_messages` has them."""
    return messages["bytes"].astype(np.uint64) << np.uint64(32) | messages["crc32"].astype(np.uint64)


def read_receipts(path: Path) -> Receipts:
    """RunDirectoryError when the file is missing, damaged, or was not written to its end."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunDirectoryError(f"cannot read it: {error.strerror}", where=str(path)) from error
    version = int.from_bytes(content[8:12], "little")
    if content[:8] != MAGIC or version != VERSION:
        raise RunDirectoryError(f"this is no file of receipts of version {VERSION}", where=str(path))
    begin = 16 + int.from_bytes(content[12:16], "little")
    end = len(content) - RECEIPT.itemsize
    records, footer = content[begin:end], content[end:]
    whole = (
        begin <= end
        and footer[:8] == END_MAGIC
        and len(records) == int.from_bytes(footer[8:16], "little") * RECEIPT.itemsize
    )
    if not whole or zlib.crc32(records) != int.from_bytes(footer[16:24], "little"):
        raise RunDirectoryError(
            "it was cut short or damaged", where=str(path), hint="was `feedbench-engine subscribe` killed?"
        )
    subscribers = int(json.loads(content[16:begin])["subscribers"])
    return Receipts(subscribers, np.frombuffer(records, RECEIPT))
