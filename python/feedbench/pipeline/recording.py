"""Reads recordings: what `feedbench record` writes, and the cryptofeed form of the same (spec/README.md).

A line is `<unix ns> <frame>` or `<unix s>: <frame>`; lines with `<->` and `<-` tell of connections and of
what was sent. There is no monotonic clock in them.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np

from feedbench.errors import FeedbenchError
from feedbench.pipeline.batch import MESSAGES, Batch, Connected, Reading, texts
from feedbench.pipeline.problem import Problem

GZIP = b"\x1f\x8b"
FRAME = re.compile(rb"(?:(?P<ns>\d{16,19}) |(?P<seconds>\d{9,10}(?:\.\d+)?): )(?P<frame>.*)", re.DOTALL)
CONNECTION = re.compile(rb"wss?://\S+ <->? ")
BEGUN = b" <-> "


def is_recording(path: Path) -> bool:
    """By its first line."""
    try:
        first = next(_lines(path), b"")
    except (OSError, EOFError, zlib.error):
        return False
    return bool(FRAME.match(first) or CONNECTION.match(first))


def read_recording(path: Path) -> Reading:
    """Every frame received; FeedbenchError at a line of another form."""
    unix_ms: list[int] = []
    payloads: list[str] = []
    try:
        for number, line in enumerate(_lines(path), 1):
            if frame := FRAME.match(line):
                unix_ms.append(_unix_ms(frame))
                payloads.append(frame["frame"].rstrip(b"\r\n").decode(errors="backslashreplace"))
                if len(payloads) == MESSAGES:
                    yield _batch(unix_ms, payloads)
                    unix_ms, payloads = [], []
            elif line.strip() and not CONNECTION.match(line):
                raise FeedbenchError(
                    f"“{line[:40].decode(errors='replace').strip()}” is no line of a recording",
                    where=f"{path}:{number}",
                )
            elif BEGUN in line:
                yield Connected()
    except (EOFError, zlib.error) as error:
        yield Problem("cut_short", f"{path} is cut short: {error}")
    if payloads:
        yield _batch(unix_ms, payloads)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    with gzip.open(path, "rb") if packed else path.open("rb") as lines:
        yield from lines


def _unix_ms(frame: re.Match[bytes]) -> int:
    if frame["ns"]:
        return int(frame["ns"]) // 1_000_000
    return int(Decimal(frame["seconds"].decode()) * 1000)


def _batch(unix_ms: list[int], payloads: list[str]) -> Batch:
    return Batch(None, np.array(unix_ms, dtype=np.int64), texts(payloads))
