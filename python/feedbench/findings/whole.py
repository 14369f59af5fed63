"""All that a run found: the whole of findings.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from feedbench.errors import RunDirectoryError
from feedbench.findings.cell import CellFinding, Estimate
from feedbench.findings.crossing import CrossingFinding
from feedbench.findings.door import DoorFinding
from feedbench.findings.question import QuestionFinding
from feedbench.findings.relay import RelayFinding
from feedbench.paths import SCHEMA, read_json
from feedbench.typed_json import from_json, to_json

Severity = Literal["note", "caution", "warning"]


@dataclass(frozen=True)
class ImpossibleFinding:
    """A cell whose numbers break a law of arithmetic; `check` is the law's name."""

    cell: str
    check: str
    text: str


@dataclass(frozen=True)
class OptionsFinding:
    """Where compared targets differ: each value of the option → the targets that have it."""

    option: str
    values: Mapping[str, tuple[str, ...]]
    text: str


@dataclass(frozen=True)
class NotMeasured:
    target: str
    reason: str


@dataclass(frozen=True)
class Advice:
    """What a reader must know of the run's quality."""

    code: str
    severity: Severity
    text: str


@dataclass(frozen=True)
class TargetFinding:
    """What a target is and what it takes to have it; None where nothing tells.

    Start-up is from before the process's start to its first handshake, `start_rss_bytes` right after that.
    """

    target: str
    version: str | None
    source_lines: int | None
    direct_dependencies: int | None
    all_dependencies: int | None
    build_seconds: float | None
    start_up_ns: Estimate
    start_rss_bytes: int | None


@dataclass(frozen=True)
class Findings:
    """`complete`: all that was planned, or that the budget allowed, is there; `repeat` runs it again."""

    scenario: str
    title: str
    run: str
    analysis: str
    questions: tuple[QuestionFinding, ...]
    cells: tuple[CellFinding, ...]
    impossible: tuple[ImpossibleFinding, ...]
    options_differences: tuple[OptionsFinding, ...]
    not_measured: tuple[NotMeasured, ...]
    advice: tuple[Advice, ...]
    complete: bool
    repeat: str
    targets: tuple[TargetFinding, ...] = ()
    crossings: tuple[CrossingFinding, ...] = ()
    doors: tuple[DoorFinding, ...] = ()
    relays: tuple[RelayFinding, ...] = ()

    @property
    def is_of_feeds(self) -> bool:
        """Whether it tells of events that were received, and not of answers."""
        return any(question.quantity == "event_age" for question in self.questions)

    @classmethod
    def from_json(cls, document: Any) -> Findings:
        """ValueError with the place of the first field that is missing or of another type."""
        return from_json(cls, document)

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **to_json(self)}


def read_findings(path: Path) -> Findings:
    """The findings in `path`; RunDirectoryError if missing, cut short, of another schema or shape."""
    document = read_json(path, needed_for="go on from the analysis; `feedbench analyze` writes it")
    try:
        return Findings.from_json(document)
    except ValueError as error:
        raise RunDirectoryError(
            str(error), where=str(path), hint="`feedbench analyze` writes it anew"
        ) from error
