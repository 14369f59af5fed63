"""What came of a target's cases, as a file in the run directory and as `expected.json` beside the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from feedbench.errors import RunDirectoryError
from feedbench.paths import SCHEMA, read_json, write_json
from feedbench.target import Target

Verdict = Literal["pass", "fail", "unsupported"]
EXPECTED = "expected.json"
# How the detail of a failure begins when the RFC says SHOULD, not MUST.
ADVICE = "SHOULD: "


@dataclass(frozen=True)
class CaseVerdict:
    """`detail` says what the target did instead; of a pass, how it failed at a first try, or None."""

    id: str
    verdict: Verdict
    detail: str | None

    @property
    def is_advice(self) -> bool:
        """Whether it fails what the RFC only advises."""
        return self.verdict == "fail" and (self.detail or "").startswith(ADVICE)


@dataclass(frozen=True)
class Verdicts:
    """Of one target, in the order of the cases."""

    target: str
    version: str | None
    cases: tuple[CaseVerdict, ...]

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    def by_id(self) -> dict[str, Verdict]:
        return {case.id: case.verdict for case in self.cases}

    def count(self, verdict: Verdict) -> int:
        return sum(case.verdict == verdict for case in self.cases)


@dataclass(frozen=True)
class Difference:
    """A case whose verdict is not the expected one; None stands for a case that is not there."""

    id: str
    expected: str | None
    found: str | None
    detail: str | None

    def __str__(self) -> str:
        told = f"{self.id}: {self.found or 'not tried'}, expected {self.expected or 'nothing yet'}"
        return f"{told} ({self.detail})" if self.detail else told


def differences(verdicts: Verdicts, expected: Mapping[str, str]) -> list[Difference]:
    """Case by case; those that are expected but were not tried come last."""
    found = [
        Difference(case.id, expected.get(case.id), case.verdict, case.detail)
        for case in verdicts.cases
        if expected.get(case.id) != case.verdict
    ]
    tried = verdicts.by_id()
    return found + [
        Difference(name, verdict, None, None) for name, verdict in expected.items() if name not in tried
    ]


def read_verdicts(path: Path) -> Verdicts:
    """The verdicts in a run directory; RunDirectoryError when the file is missing or cut short."""
    document = read_json(path, needed_for="know whether the target answers rightly")
    try:
        cases = tuple(CaseVerdict(**case) for case in document["cases"])
        return Verdicts(target=document["target"], version=document["version"], cases=cases)
    except (KeyError, TypeError) as error:
        raise RunDirectoryError(f"these are no verdicts ({error})", where=str(path)) from error


def write_verdicts(path: Path, verdicts: Verdicts) -> None:
    write_json(path, verdicts.to_json())


def read_expected(target: Target) -> dict[str, str]:
    """Case id → verdict; empty before the first `feedbench verify --update`."""
    path = target.folder / EXPECTED
    if not path.exists():
        return {}
    document = read_json(path, needed_for="compare verdicts")
    if not isinstance(document, dict) or not all(isinstance(verdict, str) for verdict in document.values()):
        raise RunDirectoryError(
            "this is no map of case ids to verdicts", where=str(path), hint="feedbench verify --update"
        )
    return document


def write_expected(target: Target, verdicts: Verdicts) -> None:
    write_json(target.folder / EXPECTED, verdicts.by_id())
