"""The verdicts of many targets at a glance: how many of each group's cases every one of them passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from feedbench.paths import SCHEMA
from feedbench.verify.case import Case
from feedbench.verify.verdicts import Verdicts

NOTHING_TRIED = "–"


@dataclass(frozen=True)
class Tally:
    """Of one target in one group; `advice` are those failures that depart from a SHOULD only."""

    passed: int = 0
    failed: int = 0
    advice: int = 0
    unsupported: int = 0

    def __str__(self) -> str:
        """`12` when all that was tried passed, else `10/12`; what is unsupported does not count."""
        tried = self.passed + self.failed
        if tried == 0:
            return NOTHING_TRIED
        return str(tried) if self.failed == 0 else f"{self.passed}/{tried}"


@dataclass(frozen=True)
class Matrix:
    """`rows`: a target's tally in each of `groups`, None where no case of the group is for it."""

    groups: tuple[str, ...]
    rows: tuple[tuple[Verdicts, tuple[Tally | None, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "groups": list(self.groups),
            "targets": [
                {
                    "target": verdicts.target,
                    "version": verdicts.version,
                    "groups": {
                        group: asdict(tally)
                        for group, tally in zip(self.groups, tallies, strict=True)
                        if tally is not None
                    },
                }
                for verdicts, tallies in self.rows
            ],
        }

    def text(self) -> str:
        """A line for each target, a column for each group that any of them was tried in."""
        table = [["target", *self.groups]]
        for verdicts, tallies in self.rows:
            table.append([verdicts.target, *("" if tally is None else str(tally) for tally in tallies)])
        columns = [column for column in zip(*table, strict=True) if any(column[1:])]
        widths = [max(map(len, column)) for column in columns]
        lines = zip(*columns, strict=True)
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def matrix(found: Sequence[Verdicts], cases: Sequence[Case]) -> Matrix:
    """In the order of the cases' groups, which is that of the files; those for clients come last."""
    group_of = {case.id: case.group for case in cases}
    by_role = sorted(cases, key=lambda case: case.role != "server")
    groups = tuple(dict.fromkeys(case.group for case in by_role))
    return Matrix(
        groups=groups,
        rows=tuple(
            (verdicts, tuple(_tally(verdicts, group, group_of) for group in groups)) for verdicts in found
        ),
    )


def _tally(verdicts: Verdicts, group: str, group_of: dict[str, str]) -> Tally | None:
    cases = [case for case in verdicts.cases if group_of[case.id] == group]
    if not cases:
        return None
    return Tally(
        passed=sum(case.verdict == "pass" for case in cases),
        failed=sum(case.verdict == "fail" for case in cases),
        advice=sum(case.is_advice for case in cases),
        unsupported=sum(case.verdict == "unsupported" for case in cases),
    )
