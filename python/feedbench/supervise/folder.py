"""What stands where in a supervisor's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from feedbench.feed.received import SUFFIXES
from feedbench.pipeline.series import Series


@dataclass(frozen=True)
class Folder:
    """`task` is the file as it was when the folder was made, so that any checkout can go on with it."""

    path: Path

    @property
    def task(self) -> Path:
        return self.path / "supervise.toml"

    @property
    def journal(self) -> Path:
        return self.path / "outages.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the supervisor, so that there is one at most."""
        return self.path / "supervisor.lock"

    @property
    def exit_file(self) -> Path:
        """Its appearance ends all clients, and the supervisor with them."""
        return self.path / "exit"

    def child_lock(self, series: Series) -> Path:
        return self.path / "clients" / f"{series}.lock"

    def log(self, series: Series) -> Path:
        return self.path / "clients" / f"{series}.log"

    def record(self, series: Series, sink: str) -> Path:
        return self.path / f"{series}{SUFFIXES[sink]}"
