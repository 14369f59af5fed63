"""Reads what a feed client's sink `stamps` left (spec/feed.md)."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

import numpy as np

from feedbench.errors import FeedbenchError
from feedbench.pipeline.batch import MESSAGES, Batch, Connected, Reading, texts
from feedbench.pipeline.problem import Problem

MAGIC = b"FBSTAMPS"
VERSION = 1
HEADER = Struct("<8sII")
RECORD = Struct("<QQIB3x")
TEXT, BINARY, CONNECTED, END = 1, 2, 3, 4


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
        header = file.read(HEADER.size)
        if len(header) < HEADER.size:
            yield Problem("cut_short", f"{path} ends after {len(header)} bytes, within its header")
            return
        magic, version, _ = HEADER.unpack(header)
        if magic != MAGIC or version != VERSION:
            raise FeedbenchError(f"this is no stamps file of version {VERSION}", where=str(path))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _records(content, path)


def _records(content: mmap.mmap, path: Path) -> Reading:
    size, at, ended, begun = len(content), HEADER.size, False, False
    unpack, head = RECORD.unpack_from, RECORD.size
    columns = _Columns()
    while at + head <= size:
        ns, unix_ms, length, kind = unpack(content, at)
        end = at + head + length
        if end > size:
            break
        if kind in (TEXT, BINARY):
            columns.ns.append(ns)
            columns.unix_ms.append(unix_ms)
            # What is no UTF-8 is no JSON either, and is told as such later; here it must only stay itself.
            columns.payloads.append(content[at + head : end].decode(errors="backslashreplace"))
            if len(columns.payloads) == MESSAGES:
                yield columns.batch()
                columns = _Columns()
        elif kind == CONNECTED:
            yield Connected()
        elif kind != END:
            raise FeedbenchError(
                f"a record of the unknown kind {kind}", where=f"{path} at byte {at}", hint="is it damaged?"
            )
        begun, ended, at = True, kind == END, end
    if columns.payloads:
        yield columns.batch()
    if at < size:
        yield Problem("cut_short", f"{path} ends within a record, {size - at} bytes after byte {at}")
    elif begun and not ended:
        yield Problem("killed", f"{path} was left without an end record: its client was killed")
