"""`feedbench paper [NAME]`: a published study's tables, checked by arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedbench.cli.common import JSON
from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.suggest import nearest

if TYPE_CHECKING:
    from feedbench.papers import Paper
    from feedbench.papers.page import Page
    from feedbench.papers.quantity import Reproduction

ALL = "all"


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(name="paper")(paper)


def paper(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A study in papers/, a .toml file of that form, or “all”; without it, all are listed."
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            help="A run of the study's scenario: its numbers stand beside the printed ones. With “all”, as "
            "many as there are studies.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether every check came out as known.")
    ] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: JSON = False,
) -> None:
    """Checks a published study: Little's law, waits, counts against rates, dates, units, scores.

    What can be worked out again stands beside what is printed, and with --run what a run of ours measured,
    cell by cell. Ends with status 1 when a check comes out
    other than its file says: an impossible number that is new, or one that was altered.
    """
    from feedbench.papers import read_paper
    from feedbench.papers.page import make_page, page_document

    if sum((check, as_markdown, as_json)) > 1:
        raise typer.BadParameter("--check, --markdown and --json exclude each other")
    runs = run or []
    if runs and (check or name is None):
        raise typer.BadParameter("--run belongs to the page of a study, or to “all”")
    if len(runs) > 1 and name != ALL:
        raise typer.BadParameter("one run belongs to one study; “all” takes several")
    if name is None and not check:
        for path in _papers().values():
            study = read_paper(path)
            print(f"{study.name}: {study.title} ({study.source})")
        return
    papers = [read_paper(path) for path in _chosen(name or ALL)]
    # A study by name is held against the one run there is, which reproduce() refuses if it is of another.
    chosen = _by_study(runs, papers) if name == ALL else dict(zip([papers[0].name], runs, strict=False))
    pages = [make_page(paper, _reproduced(paper, chosen.get(paper.name))) for paper in papers]
    if as_json:
        documents = [page_document(page) for page in pages]
        print(json.dumps(documents if name == ALL else documents[0], ensure_ascii=False))
    else:
        print(_rendered(pages, check, as_markdown))
    if any(page.surprises for page in pages):
        raise typer.Exit(1)


def _by_study(runs: list[Path], papers: list[Paper]) -> dict[str, Path]:
    """Each run under the study that it is of; FeedbenchError when it is of none, or two are of one."""
    from feedbench.papers.reproduction import study_of

    found: dict[str, Path] = {}
    for run in runs:
        study = study_of(run)
        if study not in {paper.name for paper in papers}:
            raise FeedbenchError(f'this is a run of "{study}", which is no study in papers/', where=str(run))
        if study in found:
            raise FeedbenchError(f"{found[study]} is a run of {study}, too", where=str(run), hint="give one")
        found[study] = run
    return found


def _reproduced(study: Paper, run: Path | None) -> Reproduction | None:
    if run is None:
        return None
    from feedbench.papers.reproduction import reproduce

    return reproduce(study, run)


def _rendered(pages: list[Page], check: bool, as_markdown: bool) -> str:
    from feedbench.papers.page_markdown import page_markdown
    from feedbench.papers.page_text import page_text, surprise_lines, verdict_line

    if check:
        return "\n".join(line for page in pages for line in (verdict_line(page), *surprise_lines(page)))
    if as_markdown:
        return "\n\n".join(map(page_markdown, pages))
    return f"\n\n{'─' * 72}\n\n".join(map(page_text, pages))


def _papers() -> dict[str, Path]:
    return {path.stem: path for path in sorted((Project.find().root / "papers").glob("*.toml"))}


def _chosen(name: str) -> list[Path]:
    if name.endswith(".toml"):
        return [Path(name)]
    known = _papers()
    if name == ALL:
        return list(known.values())
    if name not in known:
        raise FeedbenchError(f'there is no study "{name}" in papers/', hint=nearest(name, [*known, ALL]))
    return [known[name]]
