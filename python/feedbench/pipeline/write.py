"""A study into files: pipeline.json, tables (CSV, Markdown, LaTeX), figures (SVG, PNG), HTML and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from feedbench.analyze.table import Table
from feedbench.analyze.tables import WRITERS, to_markdown
from feedbench.errors import RunDirectoryError
from feedbench.papers import Paper
from feedbench.paths import write_json
from feedbench.pipeline.beside import beside_tables
from feedbench.pipeline.figures import study_figures
from feedbench.pipeline.page import study_page
from feedbench.pipeline.setting import Setting
from feedbench.pipeline.study import Study
from feedbench.pipeline.tables import all_tables
from feedbench.pipeline.written import Written
from feedbench.report.render import write_figures

STUDY, PAGE, TEXT, TABLES, FIGURES = "pipeline.json", "study.html", "study.md", "tables", "figures"


def write_study(study: Study, setting: Setting, paper: Paper, out: Path) -> None:
    """Into `out`; RunDirectoryError when it can't be written."""
    tables = all_tables(study, setting)
    beside = beside_tables(study, paper)
    figures = study_figures(study)
    write_json(out / STUDY, study.to_json())
    try:
        _write_tables(out / TABLES, [*tables, *beside])
        drawings = write_figures(out / FIGURES, figures)
        written = Written(tuple(tables), tuple(beside), tuple(figures), drawings)
        (out / PAGE).write_text(study_page(study, setting, written), encoding="utf-8")
        (out / TEXT).write_text("\n".join(_text(study, setting, written)), encoding="utf-8")
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write: {error.strerror}", where=str(out), hint="is the disk full?"
        ) from error


def _write_tables(folder: Path, tables: Sequence[Table]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for suffix, write in WRITERS.items():
            (folder / f"{table.name}.{suffix}").write_text(write(table), encoding="utf-8")


def _text(study: Study, setting: Setting, written: Written) -> Iterator[str]:
    yield f"# Who receives first: {setting.origin}\n"
    yield "An event's age is its receipt minus the event time in its payload, both in whole milliseconds.\n"
    if study.problems:
        yield "## To be known first\n"
        yield from (f"- {problem}." for problem in study.problems)
        yield ""
    for table in written.tables:
        yield f"## {table.name}\n\n{table.caption}\n\n{to_markdown(table)}"
    for table in written.beside:
        yield f"## {table.name}: ours beside the paper's\n\n{table.caption}\n\n{to_markdown(table)}"
    for figure in written.figures:
        yield f"## {figure.title}\n\n![{figure.description}]({FIGURES}/{figure.name}.svg)\n"
