"""What came out, on one page: the paper's tables and figures, and beside them the quantities kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from feedbench.analyze.tables import to_markdown
from feedbench.doors.campaign import Doors
from feedbench.doors.content import DIFFERENCES, Content, Played, read_played
from feedbench.doors.figures import paper_figures, write_paper_figures
from feedbench.doors.page import doors_page
from feedbench.doors.quantity import QUANTITIES
from feedbench.doors.record import read_records
from feedbench.doors.tables import paper_tables, write_tables
from feedbench.report.tables import Table


def write_results(doors: Doors, run: Path) -> Path:
    """tables/, figures/, summary.md and summary.html, from the campaigns that stand; gives back the page."""
    played = {
        name: run / "data" / "runs" / name
        for name, _ in doors.durations
        if (run / "data" / "runs" / name / "collectors.json").exists()
    }
    records = {name: read_records(folder / "results.parquet") for name, folder in played.items()}
    content = Content(
        doors,
        tables=paper_tables(records),
        figures=paper_figures(records) if records else [],
        campaigns=[read_played(name, folder) for name, folder in played.items()],
    )
    write_tables(run / "tables", content.tables)
    drawings = write_paper_figures(run / "figures", content.figures)
    (run / "summary.md").write_text("\n".join(_markdown(content)) + "\n", encoding="utf-8")
    page = run / "summary.html"
    page.write_text(doors_page(content, run.name, drawings), encoding="utf-8")
    return page


def _markdown(content: Content) -> Iterator[str]:
    doors = content.doors
    yield f"# {doors.title}\n\n{doors.question}\n\n{doors.analysis.strip()}\n"
    if content.scaled is not None:
        yield f"**{content.scaled}**\n"
    yield "## The paper's view\n"
    yield from (f"{table.caption}\n\n{to_markdown(table)}" for table in content.tables)
    yield from (f"![{figure.title}](figures/{figure.name}.svg)\n" for figure in content.figures)
    yield "## What differs from a fair comparison\n"
    yield from (f"{paragraph}\n" for paragraph in DIFFERENCES)
    yield "## The quantities kept apart\n"
    yield from (f"- **{quantity.title}**: {quantity.definition}." for quantity in QUANTITIES)
    for campaign in content.campaigns:
        yield from _campaign(campaign)


def _campaign(campaign: Played) -> Iterator[str]:
    yield f"\n### Campaign of {campaign.name}\n"
    yield from _rows(campaign.quantities)
    yield ""
    yield from campaign.clock
    yield ""
    yield from (f"- {line}" for line in campaign.collectors)


def _rows(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.columns)} |"
    yield "|" + "---|" * len(table.columns)
    yield from (f"| {' | '.join(row)} |" for row in table.rows)
