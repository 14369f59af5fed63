"""One part of the work: done on whatever worker, and done once, since its result is a file that stays."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from feedbench.errors import FeedbenchError
from feedbench.paths import SCHEMA, read_json, write_json
from feedbench.pipeline.trouble import explained

MEMORY_MOST, MEMORY_SHARE = 6 * 2**30, 0.5


@dataclass(frozen=True)
class Place:
    """A folder that all workers see, and what DuckDB may take on each: 0 is by what the machine has."""

    folder: Path
    memory_bytes: int = 0
    threads: int = 0

    @property
    def events(self) -> Path:
        """Parquet, by exchange and prefix: what stays."""
        return self.folder / "events"

    @property
    def work(self) -> Path:
        """All that is removed in the end."""
        return self.folder / "work"

    @property
    def spill(self) -> Path:
        return self.work / "spill"

    def result(self, name: str) -> Path:
        return self.work / "results" / f"{name}.json"

    def attempts(self, name: str) -> Path:
        """A line for each time that a worker began the task."""
        return self.work / "attempts" / f"{name}.txt"

    def memory(self) -> int:
        return self.memory_bytes or min(MEMORY_MOST, int(psutil.virtual_memory().total * MEMORY_SHARE))

    def cpus(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Task:
    """`function` makes a JSON object of `job`; its last argument is an empty folder for what DuckDB can't
    keep in memory. `size` is in messages.
    """

    name: str
    size: int
    function: Callable[[Any, Place, Path], dict[str, Any]]
    job: Any


@dataclass(frozen=True)
class Effort:
    """Who did a task, and the most memory that this process has had so far."""

    task: str
    worker: str
    peak_bytes: int


def perform(task: Task, place: Place) -> Effort:
    """On a worker. A task that was finished by a worker that is lost since is not done again."""
    worker = f"{socket.gethostname()}:{os.getpid()}"
    result = place.result(task.name)
    with explained(str(place.folder), room_hint="a larger disk, or a larger --memory-limit"):
        if not result.exists():
            _note(place.attempts(task.name), worker)
            place.spill.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=place.spill, prefix=f"{task.name}-") as spill:
                document = task.function(task.job, place, Path(spill))
            write_json(result, {"schema": SCHEMA, **document})
    return Effort(task.name, worker, peak_bytes())


def result_of(task: Task, place: Place) -> dict[str, Any]:
    document: dict[str, Any] = read_json(place.result(task.name), needed_for="add up the parts")
    return document


def attempts_of(task: Task, place: Place) -> list[str]:
    """The workers that began it."""
    return place.attempts(task.name).read_text(encoding="utf-8").splitlines()


def peak_bytes() -> int:
    """Of this process. Not from getrusage, which may tell that of the process which started this one."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    if found is None:
        raise FeedbenchError("the kernel does not tell a process's peak memory", where="/proc/self/status")
    return int(found[1]) * 1024


def _note(path: Path, worker: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{worker}\n")
