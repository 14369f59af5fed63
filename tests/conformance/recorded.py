"""A Binance recording: its depth updates, the book that was asked for among them, and altered copies."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STREAM = "btcusdt@depth@100ms"
Alteration = Callable[[dict[str, Any]], dict[str, Any] | None]
"""A depth update as it shall be; None leaves it out."""


@dataclass(frozen=True)
class Recorded:
    """The depth updates of a recording, and the book that was asked for by REST among them."""

    path: Path
    updates: Sequence[dict[str, Any]]
    book: dict[str, Any]


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Time of receipt and message of each line."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            time, _, message = line.partition(" ")
            yield time, json.loads(message)


def read_recording(path: Path) -> Recorded:
    """Depth updates and the one REST book."""
    updates: list[dict[str, Any]] = []
    book: dict[str, Any] = {}
    for _, message in _lines(path):
        if "lastUpdateId" in message:
            book = message
        elif message.get("stream") == STREAM:
            updates.append(message["data"])
    return Recorded(path, updates, book)


def write_altered(recorded: Recorded, alter: Alteration, path: Path) -> None:
    """A copy of the recording with altered depth updates."""
    with gzip.open(path, "wt", compresslevel=1) as copy:
        for time, message in _lines(recorded.path):
            data = alter(message["data"]) if message.get("stream") == STREAM else message.get("data")
            if data is not None or "stream" not in message:
                whole = message | ({"data": data} if data is not None else {})
                copy.write(f"{time} {json.dumps(whole, separators=(',', ':'))}\n")
