"""A study's page as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from feedbench.papers.finding import OUTCOME_WORDS
from feedbench.papers.page import Page, table_grid
from feedbench.papers.page_text import CAUTION, verdict_line


def page_markdown(page: Page) -> str:
    """The same as the text, in tables."""
    return "\n".join(_lines(page))


def _lines(page: Page) -> Iterator[str]:
    yield f"# {page.paper.title}\n\n{page.paper.source}\n\n{verdict_line(page)}\n\n## Checks\n"
    rows = [
        [
            f"**{OUTCOME_WORDS[finding.outcome]}**" + (" (not as known)" if finding.surprising else ""),
            f"{finding.table}, row {finding.row}: {finding.claim}" if finding.row else finding.claim,
            finding.numbers,
            "; ".join(finding.where),
            finding.meaning,
        ]
        for finding in page.named
    ]
    yield from _table([["Verdict", "What is checked", "Numbers", "Where", "What it means"], *rows])
    kept = [finding for finding in page.findings if finding not in page.named]
    if kept:
        yield f"\nBesides, {len(kept)} checks of single rows hold:\n"
        yield from (f"- {claim}" for claim in dict.fromkeys(finding.claim for finding in kept))
    for recomputation in page.recomputations:
        table = recomputation.table
        yield f"\n## {table.where}: printed and recomputed\n"
        yield from _table([[table.label, *table.columns], *recomputation.grid()])
    yield "\n## Printed tables"
    for table in page.paper.tables:
        yield f"\n### {table.title or table.id} ({table.where})\n"
        yield from _table(table_grid(table))
    if page.paper.defects:
        yield "\n## What arithmetic can't see\n"
        for defect in page.paper.defects:
            yield f"- {defect.text}" + (f" (`{defect.experiment}`)" if defect.experiment else "")
    if page.reproduction:
        yield f"\n## Printed, and measured here ({page.reproduction.run})\n\n{CAUTION}"
        for quantity in page.reproduction.quantities:
            yield f"\n### {quantity.table}: {quantity.title} ({quantity.where}; here: {quantity.target})\n"
            yield from _table(quantity.grid(page.reproduction.conditions))
        yield from (f"\n- {remark}" for remark in page.reproduction.remarks)


def _table(grid: Sequence[Sequence[str]]) -> Iterator[str]:
    heading, *rows = grid
    yield _row(heading)
    yield _row(["---"] * len(heading))
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
