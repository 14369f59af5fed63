"""What was played: the lines of each repeat, read as typed values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import RunDirectoryError
from feedbench.paths import target_id


@dataclass(frozen=True)
class Round:
    """One round of one repeat (spec/README.md, ramp)."""

    number: int
    wanted: int
    connected: int
    failed_connects: int
    connecting_ns: int
    requests: int
    answered: int
    lost_share: float
    elapsed_ns: int
    answers_per_s: float
    latency_ns: Mapping[str, float | None]
    ended: str
    target_rss_bytes: int | None

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Round:
        return cls(
            number=line["round"],
            latency_ns={name: value for name, value in line["latency_ns"].items() if name != "count"},
            target_rss_bytes=line.get("target_rss_bytes"),
            **{
                name: line[name]
                for name in (
                    "wanted",
                    "connected",
                    "failed_connects",
                    "connecting_ns",
                    "requests",
                    "answered",
                    "lost_share",
                    "elapsed_ns",
                    "answers_per_s",
                    "ended",
                )
            },
        )


@dataclass(frozen=True)
class Repeat:
    """One ramp of one target. `failure` is why there is none; `end` is missing when it was cut short."""

    target: str
    number: int
    rounds: tuple[Round, ...] = ()
    end: Mapping[str, Any] | None = None
    failure: str | None = None

    @property
    def whole(self) -> bool:
        """Whether there is nothing left to play of it."""
        return self.failure is not None or (self.end is not None and self.end["stopped"] != "interrupted")

    @property
    def broken_round(self) -> int | None:
        """The first round that lost more than it may."""
        broken = self.end["broken"] if self.end else None
        return int(broken["round"]) if broken else None

    @property
    def last_whole(self) -> Round | None:
        """The last round before it broke; None when it broke in the first."""
        whole = self.rounds if self.broken_round is None else self.rounds[: self.broken_round - 1]
        return whole[-1] if whole else None

    @property
    def leaked_descriptors(self) -> int | None:
        """What the engine found open that should not be; None where it did not come to its end."""
        return int(self.end["descriptors"]["leaked"]) if self.end else None

    @property
    def finished(self) -> bool:
        """Played to the last round without breaking."""
        return self.end is not None and self.end["stopped"] == "complete" and self.broken_round is None


def repeat_file(run: Path, target: str, number: int) -> Path:
    return run / "ramps" / target_id(target) / f"{number}.jsonl"


def read_repeat(run: Path, target: str, number: int) -> Repeat:
    """As much of it as was written; a repeat without a file has not begun."""
    path = repeat_file(run, target, number)
    if not path.exists():
        return Repeat(target, number)
    rounds: list[Round] = []
    end = failure = None
    try:
        for text in path.read_text(encoding="utf-8").splitlines():
            line = _line(text)
            match line.get("kind"):
                case "round":
                    rounds.append(Round.from_json(line))
                case "end":
                    end = line
                case "failed":
                    failure = str(line["cause"])
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise RunDirectoryError(f"this is no record of a ramp: {error}", where=str(path)) from error
    # The line of an interrupted round counts for nothing: it was not waited for.
    kept = tuple(round for round in rounds if round.ended != "interrupted")
    return Repeat(target, number, kept, end, failure)


def _line(text: str) -> dict[str, Any]:
    """An empty object for a line that was cut short."""
    try:
        line = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return line if isinstance(line, dict) else {}
