"""What there is to tell of one study: its tables, what was found, and what was worked out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from feedbench.papers.check import check_paper
from feedbench.papers.finding import Finding, Outcome
from feedbench.papers.study import Paper, PublishedTable
from feedbench.papers.table_checks import Recomputed, recomputed_places, recomputed_scores
from feedbench.paths import SCHEMA

if TYPE_CHECKING:  # it brings in the report's drawing, which only a page with a run needs
    from feedbench.papers.quantity import Reproduction


@dataclass(frozen=True)
class Recomputation:
    """A printed table worked out again, cell by cell."""

    table: PublishedTable
    cells: tuple[Recomputed, ...]

    def grid(self) -> list[list[str]]:
        """A row of texts for each row of the table, its name first: "5.67 = 5.67"."""
        return [
            [label, *(_beside(cell) for cell in self.cells if cell.row == label)]
            for label in self.table.labels
        ]


@dataclass(frozen=True)
class Page:
    """`places`: of each contender by the recomputed final score, where the study has one. `reproduction`:
    what a run of ours measured, where one was given.
    """

    paper: Paper
    findings: tuple[Finding, ...]
    recomputations: tuple[Recomputation, ...]
    places: Mapping[str, int]
    reproduction: Reproduction | None = None

    @property
    def surprises(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.surprising]

    @property
    def named(self) -> list[Finding]:
        """Those to be told one by one: all but the rows that keep a law as they should."""
        return [
            finding
            for finding in self.findings
            if not finding.row or finding.surprising or finding.outcome is not Outcome.HOLDS
        ]

    def of_table(self, table: PublishedTable) -> list[Finding]:
        """The laws that the rows of `table` were held to."""
        return [finding for finding in self.findings if finding.table == table.id]

    def count(self, outcome: Outcome) -> int:
        return sum(finding.outcome is outcome for finding in self.findings)


def make_page(paper: Paper, reproduction: Reproduction | None = None) -> Page:
    """FeedbenchError when the study's file asks for what can't be checked."""
    findings = tuple(check_paper(paper))
    recomputations: list[Recomputation] = []
    places: dict[str, int] = {}
    for request in paper.checks:
        if request.kind == "scores":
            tables = recomputed_scores(request.parameters, paper)
            recomputations += [
                Recomputation(paper.table(name), tuple(cells)) for name, cells in tables.items()
            ]
            places.update(recomputed_places(request.parameters, paper))
    return Page(paper, findings, tuple(recomputations), places, reproduction)


def table_grid(table: PublishedTable) -> list[list[str]]:
    """Every value with the digits and the arrow that were printed, headings first."""
    columns = list(table.columns)
    rows = [
        [f"{row[name]:f}{_mark(table, number, name)}" if name in row else "" for name in columns]
        for number, row in enumerate(table.rows)
    ]
    if not table.label:
        return [columns, *rows]
    return [
        [table.label, *columns],
        *([label, *row] for label, row in zip(table.labels, rows, strict=True)),
    ]


def together(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Neighbours that mean the same, so that it is said once."""
    return [
        list(group)
        for _, group in groupby(findings, key=lambda one: (one.outcome, one.meaning, one.surprising))
    ]


def page_document(page: Page) -> dict[str, Any]:
    """For programs."""
    return {
        "schema": SCHEMA,
        "name": page.paper.name,
        "title": page.paper.title,
        "source": page.paper.source,
        "as_known": not page.surprises,
        "findings": [{**asdict(finding), "as_known": not finding.surprising} for finding in page.findings],
        "recomputed": [
            {
                "table": recomputation.table.id,
                "cells": [
                    {
                        "row": cell.row,
                        "column": cell.column,
                        "printed": str(cell.printed),
                        "computed": str(cell.computed),
                    }
                    for cell in recomputation.cells
                ],
            }
            for recomputation in page.recomputations
        ],
        "places": dict(page.places),
        "defects": [asdict(defect) for defect in page.paper.defects],
        "reproduction": _reproduction(page.reproduction) if page.reproduction else None,
    }


def _mark(table: PublishedTable, number: int, column: str) -> str:
    mark = table.marks.get((table.labels[number], column)) if table.label else None
    return f" {mark}" if mark else ""


def _beside(cell: Recomputed) -> str:
    return f"{cell.printed} {'=' if cell.agrees else '≠'} {cell.computed}"


def _reproduction(reproduction: Reproduction) -> dict[str, Any]:
    """Printed numbers as texts, with the digits that were printed."""
    return {
        "run": reproduction.run,
        "conditions": list(reproduction.conditions),
        "cells": [
            {
                "table": quantity.table,
                "column": quantity.column,
                "row": line.row,
                "target": quantity.target,
                "printed": str(line.printed),
                "measured": list(line.measured),
            }
            for quantity in reproduction.quantities
            for line in quantity.lines
        ],
        "remarks": list(reproduction.remarks),
    }
