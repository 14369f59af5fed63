"""What happened to each client, one line each: nothing that a supervisor does is told only on a screen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from feedbench.errors import RunDirectoryError
from feedbench.paths import SCHEMA
from feedbench.pipeline.series import Series

Kind = Literal["started", "found", "died", "given_up", "ended"]


@dataclass(frozen=True)
class Entry:
    """`unix_ns` is when it happened, as near as can be told; `cause` of a death."""

    kind: Kind
    series: str
    unix_ns: int
    pid: int | None = None
    cause: str | None = None


@dataclass(frozen=True)
class History:
    """Of one series. `down_ns` is what its outages lasted, up to `now` if it is down."""

    starts: int
    deaths: int
    down_ns: int
    last: Entry | None


def append(path: Path, entry: Entry) -> None:
    """One line in one write, so that a killed supervisor leaves whole lines."""
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps({"schema": SCHEMA, **asdict(entry)}, ensure_ascii=False).encode() + b"\n")


def read(path: Path) -> list[Entry]:
    """All that is told; RunDirectoryError when the file is of another kind."""
    if not path.exists():
        return []
    try:
        return [_entry(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(f"this is no journal of a supervisor ({error})", where=str(path)) from error


def history(entries: Iterable[Entry], series: Series, *, now_unix_ns: int) -> History:
    """An outage lasts from a death to the next start."""
    starts = deaths = down_ns = 0
    down_since: int | None = None
    last = None
    for entry in entries:
        if entry.series != str(series):
            continue
        last = entry
        if entry.kind == "died":
            deaths += 1
            down_since = entry.unix_ns
        elif entry.kind == "started":
            starts += 1
            if down_since is not None:
                down_ns += entry.unix_ns - down_since
            down_since = None
        elif entry.kind == "ended":
            down_since = None
    if down_since is not None:
        down_ns += now_unix_ns - down_since
    return History(starts, deaths, down_ns, last)


def _entry(document: dict[str, Any]) -> Entry:
    return Entry(**{key: value for key, value in document.items() if key != "schema"})
