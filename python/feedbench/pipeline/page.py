"""A study as one HTML file that is whole in itself: what has to be known first, figures, tables."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from feedbench import __version__
from feedbench.pipeline.setting import Setting
from feedbench.pipeline.study import Study
from feedbench.pipeline.written import Written
from feedbench.report import theme
from feedbench.report.page import content_policy


def study_page(study: Study, setting: Setting, written: Written) -> str:
    """The HTML."""
    environment = Environment(
        loader=PackageLoader("feedbench.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("feedbench.report").joinpath("assets", "style.css").read_text(encoding="utf-8")
    return environment.get_template("study.html.j2").render(
        origin=setting.origin,
        version=__version__,
        policy=content_policy(),
        style=style + f"@media (prefers-color-scheme:dark){{{theme.repaint_rules('.chart')}}}",
        problems=[str(problem) for problem in study.problems],
        tables=written.tables,
        beside=written.beside,
        figures=[(figure, written.drawings[figure.name]) for figure in written.figures],
    )
