"""A study's page for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from feedbench.papers.finding import OUTCOME_WORDS, Finding, Outcome
from feedbench.papers.page import Page, table_grid, together

if TYPE_CHECKING:  # it brings in the report's drawing, which only a page with a run needs
    from feedbench.papers.quantity import Reproduction

WIDTH = 110
CAUTION = "Another machine, another day: compare shapes and ratios, not milliseconds."


def page_text(page: Page) -> str:
    """Tables, checks, recomputed tables, and what arithmetic can't see."""
    return "\n".join(_lines(page))


def verdict_line(page: Page) -> str:
    """How the checks came out, on one line."""
    counts = ", ".join(f"{page.count(outcome)} {_plural(outcome)}" for outcome in Outcome)
    known = "all as known" if not page.surprises else f"{len(page.surprises)} not as known"
    return f"{page.paper.name}: {len(page.findings)} checks: {counts}; {known}"


def surprise_lines(page: Page) -> Iterator[str]:
    """One line for each finding that is not what the study's file says of it."""
    for finding in page.surprises:
        known, found = OUTCOME_WORDS[finding.expected], OUTCOME_WORDS[finding.outcome]
        shown = f" with {finding.shows}" if finding.shows else ""
        numbers = f": {finding.numbers}" if finding.numbers else ""
        yield f"  {found}, known was “{known}{shown}”: {_claim(finding)}{numbers}"


def _lines(page: Page) -> Iterator[str]:
    yield page.paper.title
    yield page.paper.source
    for table in page.paper.tables:
        heading = f"{table.title} " if table.title else ""
        yield f"\n{table.id}: {heading}({table.where})"
        yield from _aligned(table_grid(table))
        laws = page.of_table(table)
        if laws:
            kept = sum(finding.outcome is Outcome.HOLDS for finding in laws)
            yield f"  {len(table.rows)} rows, {kept} of {len(laws)} checks hold"
    yield f"\n{verdict_line(page)}"
    for group in together(page.named):
        yield from _group(group)
    for recomputation in page.recomputations:
        table = recomputation.table
        yield f"\n{table.id}: printed and recomputed ({table.where})"
        yield from _aligned([[table.label, *table.columns], *recomputation.grid()])
    if page.places:
        best = sorted(page.places, key=lambda name: page.places[name])
        yield "\nPlaces: " + ", ".join(f"{page.places[name]} {name}" for name in best)
    if page.paper.defects:
        yield "\nWhat arithmetic can't see:"
        for defect in page.paper.defects:
            scenario = f" ({defect.experiment})" if defect.experiment else ""
            yield from _wrapped(defect.text + scenario, "- ", "  ")
    if page.reproduction:
        yield from _reproduction(page.reproduction)


def _reproduction(reproduction: Reproduction) -> Iterator[str]:
    yield f"\nPrinted, and measured here in {reproduction.run}"
    yield from _wrapped(CAUTION, "", "")
    for quantity in reproduction.quantities:
        yield f"\n{quantity.table}: {quantity.title} ({quantity.where}; here: {quantity.target})"
        yield from _aligned(quantity.grid(reproduction.conditions))
    if reproduction.remarks:
        yield ""
    for remark in reproduction.remarks:
        yield from _wrapped(remark, "- ", "  ")


def _group(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield ""
        note = " (not as known)" if finding.surprising else ""
        yield from _wrapped(f"{OUTCOME_WORDS[finding.outcome]}{note}: {_claim(finding)}", "", "  ")
        if finding.numbers:
            yield from _wrapped(f"{finding.numbers} [{'; '.join(finding.where)}]", "  ", "  ")
    if findings[-1].meaning:
        yield from _wrapped(findings[-1].meaning, "  → ", "    ")


def _claim(finding: Finding) -> str:
    return f"{finding.table}, row {finding.row}: {finding.claim}" if finding.row else finding.claim


def _plural(outcome: Outcome) -> str:
    return {Outcome.HOLDS: "hold", Outcome.FAILS: "do not hold"}.get(outcome, "cannot be decided from print")


def _aligned(grid: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    for row in grid:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join([row[0].ljust(widths[0]), *cells[1:]])}".rstrip()


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
