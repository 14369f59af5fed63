"""The summary as one HTML file that is whole in itself: tables, and figures as pictures, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from feedbench import __version__
from feedbench.analyze.table import Table as PaperTable
from feedbench.doors.content import DIFFERENCES, Content
from feedbench.doors.quantity import QUANTITIES
from feedbench.report import theme
from feedbench.report.page import content_policy
from feedbench.report.tables import Table


def doors_page(content: Content, run_name: str, drawings: Mapping[str, str]) -> str:
    """The HTML; `drawings` holds each figure's SVG by its name."""
    environment = Environment(
        loader=PackageLoader("feedbench.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("feedbench.report").joinpath("assets", "style.css").read_text(encoding="utf-8")
    return environment.get_template("doors.html.j2").render(
        content=content,
        run=run_name,
        version=__version__,
        policy=content_policy(),
        style=style + f"@media (prefers-color-scheme:dark){{{theme.repaint_rules('.chart')}}}",
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
