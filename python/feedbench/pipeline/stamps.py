"""Reads what a feed client's sink `stamps` left (spec/feed.md), as a stream: files of 100 hours are larger
than memory. feed.stamps has the whole of one at once.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

import numpy as np

from feedbench.errors import FeedbenchError
from feedbench.feed.stamps import MAGIC, VERSION, Kind
from feedbench.pipeline.batch import MESSAGES, Batch, Connected, Reading, texts
from feedbench.pipeline.problem import Problem

RECORD = Struct("<QQIB3x")  # feed.stamps.HEAD, for one record at a time
MESSAGE_KINDS = (int(Kind.TEXT), int(Kind.BINARY))
FILE_HEADER = MAGIC + VERSION.to_bytes(4, "little") + bytes(4)


@dataclass
class _Columns:
    """A batch as it grows."""

    ns: list[int] = field(default_factory=list)
    unix_ms: list[int] = field(default_factory=list)
    payloads: list[str] = field(default_factory=list)

    def batch(self) -> Batch:
        return Batch(
            np.array(self.ns, dtype=np.int64), np.array(self.unix_ms, dtype=np.int64), texts(self.payloads)
        )


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
    size, at, ended, begun = len(content), len(FILE_HEADER), False, False
    unpack, head = RECORD.unpack_from, RECORD.size
    columns = _Columns()
    while at + head <= size:
        ns, unix_ms, length, kind = unpack(content, at)
        end = at + head + length
        if end > size:
            break
        if kind in MESSAGE_KINDS:
            columns.ns.append(ns)
            columns.unix_ms.append(unix_ms)
            # What is no UTF-8 is no JSON either, and is told as such later; here it must only stay itself.
            columns.payloads.append(content[at + head : end].decode(errors="backslashreplace"))
            if len(columns.payloads) == MESSAGES:
                yield columns.batch()
                columns = _Columns()
        elif kind == Kind.CONNECTED:
            yield Connected()
        elif kind != Kind.END:
            raise FeedbenchError(
                f"a record of the unknown kind {kind}", where=f"{path} at byte {at}", hint="is it damaged?"
            )
        begun, ended, at = True, kind == Kind.END, end
    if columns.payloads:
        yield columns.batch()
    if at < size:
        yield Problem("cut_short", f"{path} ends within a record, {size - at} bytes after byte {at}")
    elif begun and not ended:
        yield Problem("killed", f"{path} was left without an end record: its client was killed")
