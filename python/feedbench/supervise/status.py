"""What a supervisor's folder tells of its clients, at this moment."""

from __future__ import annotations

import time
from dataclasses import dataclass

from feedbench.pipeline.series import Series
from feedbench.supervise import journal
from feedbench.supervise.child import find_child
from feedbench.supervise.folder import Folder
from feedbench.supervise.task import Task


@dataclass(frozen=True)
class SeriesStatus:
    """`state` is `up`, `down`, `given up`, `ended` or `not started`; `quiet_ns`: since its record grew."""

    series: Series
    state: str
    pid: int | None
    up_ns: int | None
    starts: int
    deaths: int
    down_ns: int
    record_bytes: int
    quiet_ns: int | None


def read_status(folder: Folder, task: Task) -> list[SeriesStatus]:
    entries = journal.read(folder.journal)
    return [_of_series(folder, task, series, entries) for series, _, _ in task.series()]


def _of_series(folder: Folder, task: Task, series: Series, entries: list[journal.Entry]) -> SeriesStatus:
    now_ns = time.time_ns()
    child = find_child(folder.child_lock(series))
    history = journal.history(entries, series, now_unix_ns=now_ns)
    record = folder.record(series, task.sink)
    there = record.exists()
    return SeriesStatus(
        series=series,
        state="up" if child else _down(history.last),
        pid=child.pid if child else None,
        up_ns=now_ns - child.started_unix_ns if child else None,
        starts=history.starts,
        deaths=history.deaths,
        down_ns=history.down_ns,
        record_bytes=record.stat().st_size if there else 0,
        quiet_ns=now_ns - record.stat().st_mtime_ns if there else None,
    )


def _down(last: journal.Entry | None) -> str:
    if last is None:
        return "not started"
    return {"ended": "ended", "given_up": "given up"}.get(last.kind, "down")
