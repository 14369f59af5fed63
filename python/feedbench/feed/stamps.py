"""The stamps of a feed client: when its library handed each message over, and the message (spec/feed.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import RunDirectoryError

MAGIC = b"FBSTAMPS"
VERSION = 1
HEADER_BYTES = 16
HEAD = np.dtype(
    [
        ("received_ns", "<u8"),
        ("unix_ms", "<u8"),
        ("bytes", "<u4"),
        ("kind", "u1"),
        ("zero", "u1", 3),
    ]
)
_LENGTH = Struct("<I")
_LENGTH_AT = 16


class Kind(IntEnum):
    """What a record tells."""

    TEXT = 1
    BINARY = 2
    CONNECTED = 3
    END = 4
    ANSWER = 5  # a poller's


class Ending(Enum):
    """How a stamps file ends."""

    ENDED = "its client ended"
    KILLED = "its client was killed"  # whole records, but the last one is no end
    CUT_SHORT = "it was cut within a record"


@dataclass(frozen=True)
class Stamps:
    """A whole file: `heads` (dtype HEAD) of all records, in order, and where each one's payload begins."""

    content: bytes
    heads: NDArray[np.void]
    begins: NDArray[np.int64]
    ending: Ending

    @property
    def is_message(self) -> NDArray[np.bool_]:
        kinds: NDArray[np.uint8] = self.heads["kind"]
        return np.isin(kinds, (Kind.TEXT, Kind.BINARY))

    def payload(self, index: int) -> bytes:
        begin = int(self.begins[index])
        return self.content[begin : begin + int(self.heads["bytes"][index])]

    def payloads(self) -> Iterator[bytes]:
        """Of the messages, in order of receipt."""
        return (self.payload(int(index)) for index in np.flatnonzero(self.is_message))

    @property
    def connections(self) -> int:
        return int(np.count_nonzero(self.heads["kind"] == Kind.CONNECTED))

    @property
    def reasons(self) -> list[str]:
        """How its connections ended, as far as the client could tell; empty texts where it was asked to."""
        ends = np.flatnonzero(self.heads["kind"] == Kind.END)
        return [self.payload(int(index)).decode(errors="replace") for index in ends]


def read_stamps(path: Path) -> Stamps:
    """Every whole record of the file; RunDirectoryError when it can't be read, is none, or holds nonsense.

    A file that was cut within its header has no records. The length of a record says where the next begins,
    so that one pass in Python finds them; all else is done on arrays (about 4 million records a second).
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunDirectoryError(f"cannot read it: {error.strerror}", where=str(path)) from error
    header = content[:HEADER_BYTES]
    whole = MAGIC + VERSION.to_bytes(4, "little") + bytes(4)
    if len(header) < HEADER_BYTES and whole.startswith(header):
        return Stamps(content, np.empty(0, HEAD), np.empty(0, np.int64), Ending.CUT_SHORT)
    if header[:8] != MAGIC:
        raise RunDirectoryError(
            "this is no stamps file", where=str(path), hint=f"it should begin with {MAGIC.decode()}"
        )
    if header != whole:
        version = int.from_bytes(header[8:12], "little")
        raise RunDirectoryError(
            f"stamps file version {version} is not the one that this feedbench reads ({VERSION})",
            where=str(path),
        )
    starts, end = _record_starts(content)
    heads = heads_at(content, starts)
    odd = np.flatnonzero(~np.isin(heads["kind"], [kind.value for kind in Kind]))
    if odd.size:
        first = int(odd[0])
        raise RunDirectoryError(
            f"a record of the unknown kind {heads['kind'][first]} at byte {starts[first]}",
            where=str(path),
            hint="was the file damaged, or gone on with after it was cut?",
        )
    return Stamps(content, heads, starts + HEAD.itemsize, _ending(heads, cut=end < len(content)))


def _record_starts(content: bytes) -> tuple[NDArray[np.int64], int]:
    """Where each whole record begins, and where the last one ends."""
    starts: list[int] = []
    at, size, length_at = HEADER_BYTES, len(content), _LENGTH.unpack_from
    while at + HEAD.itemsize <= size:
        end = at + HEAD.itemsize + length_at(content, at + _LENGTH_AT)[0]
        if end > size:
            break
        starts.append(at)
        at = end
    return np.array(starts, dtype=np.int64), at


def heads_at(content: bytes, starts: NDArray[np.int64]) -> NDArray[np.void]:
    """The heads (dtype HEAD) of the records that begin there."""
    every = np.frombuffer(content, np.uint8)
    gathered: NDArray[np.uint8] = every[starts[:, None] + np.arange(HEAD.itemsize)]
    return gathered.reshape(-1).view(HEAD)


def _ending(heads: NDArray[np.void], *, cut: bool) -> Ending:
    if cut:
        return Ending.CUT_SHORT
    return Ending.ENDED if len(heads) and heads["kind"][-1] == Kind.END else Ending.KILLED
