"""Reads what a feed client's sink `stamps` left (spec/feed.md), as a stream: files of 100 hours are larger
than memory. feed.stamps has the whole of one at once.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import FeedbenchError
from feedbench.feed.stamps import HEAD, MAGIC, VERSION, Kind, heads_at
from feedbench.pipeline.batch import MESSAGES, Batch, Connected, Reading, texts
from feedbench.pipeline.problem import Problem

FILE_HEADER = MAGIC + VERSION.to_bytes(4, "little") + bytes(4)
LENGTH = Struct("<I")
LENGTH_AT = HEAD.fields["bytes"][1] if HEAD.fields else 0
KNOWN = (Kind.TEXT, Kind.BINARY, Kind.CONNECTED, Kind.END)


def read_stamps(path: Path) -> Reading:
    """Every whole record. A file cut short or left by a killed client is told as a problem, and read as far
    as it goes; FeedbenchError when it is none of ours.
    """
    with path.open("rb") as file:
        header = file.read(len(FILE_HEADER))
        if len(header) < len(FILE_HEADER) and FILE_HEADER.startswith(header):
            yield Problem("cut_short", f"{path} ends after {len(header)} bytes, within its header")
            return
        if header != FILE_HEADER:
            raise FeedbenchError(f"this is no stamps file of version {VERSION}", where=str(path))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _records(content, path)


def _records(content: mmap.mmap, path: Path) -> Reading:
    at, last = len(FILE_HEADER), None
    while True:
        starts, end = _starts(content, at)
        if not starts:
            break
        part = content[at:end]
        begins = np.array(starts, dtype=np.int64) - at
        heads = heads_at(part, begins)
        _refuse_unknown(heads, starts, path)
        for _ in range(int(np.count_nonzero(heads["kind"] == Kind.CONNECTED))):
            yield Connected()
        messages = np.isin(heads["kind"], (Kind.TEXT, Kind.BINARY))
        if messages.any():
            yield _batch(part, heads[messages], begins[messages] + HEAD.itemsize)
        at, last = end, int(heads["kind"][-1])
    if at < len(content):
        yield Problem("cut_short", f"{path} ends within a record, {len(content) - at} bytes after byte {at}")
    elif last is not None and last != Kind.END:
        yield Problem("killed", f"{path} was left without an end record: its client was killed")


def _starts(content: mmap.mmap, at: int) -> tuple[list[int], int]:
    """Where the next whole records begin, at most MESSAGES of them, and where the last of these ends. Each
    one's length says where the next begins, so this is a loop; all else is done on arrays.
    """
    starts: list[int] = []
    size, head, length_of = len(content), HEAD.itemsize, LENGTH.unpack_from
    while len(starts) < MESSAGES and at + head <= size:
        end = at + head + length_of(content, at + LENGTH_AT)[0]
        if end > size:
            break
        starts.append(at)
        at = end
    return starts, at


def _refuse_unknown(heads: NDArray[np.void], starts: list[int], path: Path) -> None:
    odd = np.flatnonzero(~np.isin(heads["kind"], KNOWN))
    if odd.size:
        kind, at = int(heads["kind"][odd[0]]), starts[odd[0]]
        hint = "answers of a poller are no feed" if kind == Kind.ANSWER else "is it damaged?"
        raise FeedbenchError(f"a record of the unknown kind {kind}", where=f"{path} at byte {at}", hint=hint)


def _batch(part: bytes, heads: NDArray[np.void], begins: NDArray[np.int64]) -> Batch:
    ends = begins + heads["bytes"]
    # What is no UTF-8 is no JSON either, and is told as such later; here it must only stay itself.
    payloads = [
        part[begin:end].decode(errors="backslashreplace")
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    return Batch(heads["received_ns"].astype(np.int64), heads["unix_ms"].astype(np.int64), texts(payloads))
