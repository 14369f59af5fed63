"""A study as one HTML file that is whole in itself: what has to be known first, figures, tables."""

from __future__ import annotations

from feedbench.pipeline.setting import Setting
from feedbench.pipeline.study import Study
from feedbench.pipeline.written import Written
from feedbench.report.html import render


def study_page(study: Study, setting: Setting, written: Written) -> str:
    """The HTML."""
    return render(
        "study.html.j2",
        origin=setting.origin,
        problems=[str(problem) for problem in study.problems],
        tables=written.tables,
        beside=written.beside,
        figures=[(figure, written.drawings[figure.name]) for figure in written.figures],
    )
