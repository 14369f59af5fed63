"""run.json: how far a run came, why it stopped, and what was left out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from feedbench.errors import RunDirectoryError
from feedbench.paths import SCHEMA, RunDirectory, read_json, write_json

# "running" in a run that nobody is running means that it was killed.
Stopped = Literal["running", "complete", "budget", "interrupted", "failed"]


@dataclass(frozen=True)
class LostAttempt:
    """A block that was cut off because a host was lost; it was measured anew, or stands in blocks_failed."""

    block: int
    attempt: int
    cause: str


@dataclass(frozen=True)
class RunRecord:
    """Times are unix ns. `left_out` says, by target, why it is not timed; `advice` is for the report's
    reader. Each block that was begun is in `blocks_done`, in `blocks_failed`, or begun anew.
    """

    blocks_planned: int
    blocks_done: tuple[int, ...] = ()
    stopped: Stopped = "running"
    cause: str | None = None
    started_unix_ns: int = 0
    ended_unix_ns: int = 0
    shield: str = "none"
    pinned: Mapping[str, list[int]] = field(default_factory=dict)
    advice: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[LostAttempt, ...] = ()
    blocks_failed: tuple[int, ...] = ()

    def write(self, directory: RunDirectory) -> None:
        write_json(directory.path / "run.json", self.to_json())

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "blocks_planned": self.blocks_planned,
            "blocks_done": list(self.blocks_done),
            "stopped": self.stopped,
            "cause": self.cause,
            "started_unix_ns": self.started_unix_ns,
            "ended_unix_ns": self.ended_unix_ns,
            "shield": self.shield,
            "pinned": dict(self.pinned),
            "advice": list(self.advice),
            "left_out": [{"target": target, "reason": reason} for target, reason in self.left_out.items()],
            **({"lost": [asdict(attempt) for attempt in self.lost]} if self.lost else {}),
            **({"blocks_failed": list(self.blocks_failed)} if self.blocks_failed else {}),
        }


def read_record(directory: RunDirectory) -> RunRecord:
    """RunDirectoryError when run.json is missing, cut short or incomplete."""
    path = directory.path / "run.json"
    document = read_json(path, needed_for="go on with the run")
    try:
        fields = {name: value for name, value in document.items() if name != "schema"}
        fields["left_out"] = {entry["target"]: entry["reason"] for entry in fields["left_out"]}
        fields["lost"] = tuple(LostAttempt(**attempt) for attempt in fields.get("lost", ()))
        for name in ("blocks_done", "advice", "blocks_failed"):
            fields[name] = tuple(fields.get(name, ()))
        return RunRecord(**fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise RunDirectoryError(f"this is no record of a run ({error})", where=str(path)) from error
