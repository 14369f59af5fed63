"""The summary as one HTML file that is whole in itself: tables, and figures as pictures, without a script."""

from __future__ import annotations

from collections.abc import Mapping

from feedbench.analyze.table import Table as PaperTable
from feedbench.doors.content import DIFFERENCES, Content
from feedbench.doors.quantity import QUANTITIES
from feedbench.report.html import render
from feedbench.report.tables import Table


def doors_page(content: Content, run_name: str, drawings: Mapping[str, str]) -> str:
    """The HTML; `drawings` holds each figure's SVG by its name."""
    return render(
        "doors.html.j2",
        content=content,
        run=run_name,
        tables=[_shown(table) for table in content.tables],
        figures=[(figure, drawings[figure.name]) for figure in content.figures],
        differences=DIFFERENCES,
        quantities=QUANTITIES,
        paragraphs=content.doors.analysis.strip().split("\n\n"),
    )


def _shown(table: PaperTable) -> Table:
    """As people read it; all but words are numbers."""
    numeric = frozenset(
        position
        for position in range(len(table.columns))
        if any(isinstance(row[position], int | float) for row in table.rows)
    )
    columns = tuple(column.title for column in table.columns)
    return Table(table.caption, columns, tuple(tuple(row) for row in table.shown()), numeric)
