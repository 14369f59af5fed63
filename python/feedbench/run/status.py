"""The verdict of a cell and why: a failed cell is a result, recorded with its cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from feedbench.paths import SCHEMA, write_json
from feedbench.protocol import Expect

Verdict = Literal["ok", "missed_rate", "failed", "unsupported", "skipped"]
UNSUPPORTED_STATUS = 127  # the exit status by which a target says that it can't do what is asked


@dataclass(frozen=True)
class Outcome:
    """A verdict and its cause; the cause is None only when all went well."""

    verdict: Verdict
    cause: str | None = None


@dataclass(frozen=True)
class Status:
    """status.json of one cell in one block; times are unix ns."""

    cell: str
    verdict: Verdict
    cause: str | None
    block: int
    started_unix_ns: int
    ended_unix_ns: int

    def write(self, folder: Path) -> None:
        """Writes status.json into the cell's folder."""
        write_json(folder / "status.json", {"schema": SCHEMA, **asdict(self)})


def judge_load(load: Mapping[str, Any], expect: Expect) -> Outcome:
    """The outcome of a measured cell: the engine's verdict, then what the scenario expects of a cell that ran
    right.

    A wrong answer outweighs a missed rate: numbers of a target that answers wrongly mean nothing.
    """
    verdict = str(load.get("verdict"))
    cause = load.get("cause")
    if verdict not in get_args(Verdict):
        return Outcome("failed", f"the engine gave the verdict {verdict!r}, which is not known")
    if verdict in ("ok", "missed_rate"):
        limits = asdict(expect)
        broken = [
            f"{load[name]} messages {name.replace('_', ' ')} ({limit} allowed)"
            for name, limit in limits.items()
            if int(load[name]) > limit
        ]
        if broken:
            return Outcome("failed", ", ".join(broken))
        if load.get("interrupted"):
            return Outcome("skipped", "interrupted before it was measured whole")
    if verdict == "ok":
        return Outcome("ok")
    return Outcome(cast(Verdict, verdict), str(cause) if cause else "the engine gave no cause")
