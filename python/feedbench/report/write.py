"""From a run directory to its report: reads what the earlier stages wrote, adds report.html and figures/."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feedbench.errors import FeedbenchError, RunDirectoryError
from feedbench.findings import read_findings
from feedbench.paths import Project, RunDirectory, read_json
from feedbench.report import sentences
from feedbench.report.content import content
from feedbench.report.figures.picture import picture
from feedbench.report.page import page
from feedbench.report.render import adaptive_svg, static_svg, write_figures
from feedbench.verify.conformance import read_conformance

if TYPE_CHECKING:  # it brings in the whole analysis, which only a paper's page needs
    from feedbench.papers import Paper


def write_report(run: RunDirectory) -> Path:
    """Writes figures/ and report.html from the run's findings; gives back the page's path."""
    findings = read_findings(run.findings)
    whole = content(
        findings,
        scenario=_scenario(run.scenario),
        plan=_optional_json(run.plan),
        host=_optional_json(run.host),
        files=_tables(run),
        studies=_studies(run),
        paper=_paper(findings.scenario),
        conformance=read_conformance(run.conformance),
    )
    try:
        drawings = write_figures(run.figures, whole.figures)
        headline = sentences.headline_question(findings)
        if headline is not None and headline.ranking:
            write_picture(run, run.figures / "ranking.svg")
        partial = run.report.with_name(".report.html.partial")
        partial.write_text(page(whole, drawings), encoding="utf-8")
        partial.replace(run.report)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write the report: {error.strerror}",
            where=str(error.filename or run.path),
            hint="is the disk full?",
        ) from error
    return run.report


def write_picture(run: RunDirectory, path: Path) -> Path:
    """The one picture for a README: the headline's ranking, readable on light and on dark pages."""
    findings = read_findings(run.findings)
    headline = sentences.headline_question(findings)
    if headline is None or not headline.ranking:
        why = headline.withheld if headline else None
        raise RunDirectoryError(
            "these findings hold no ranking to draw",
            where=str(run.findings),
            hint=why or "see report.html for the causes",
        )
    path.write_text(adaptive_svg(static_svg(picture(headline, findings))), encoding="utf-8")
    return path


def _optional_json(path: Path) -> Mapping[str, Any]:
    """A file that makes the page richer; the page does without when it isn't there."""
    if not path.exists():
        return {}
    document = read_json(path, needed_for="describe the run")
    return document if isinstance(document, dict) else {}


def _scenario(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError):  # only the question's wording is lost
        return {}


def _paper(scenario: str) -> Paper | None:
    """The study that the scenario is named after (`salih`, `salih-short`), if its tables are here."""
    try:
        folder = Project.find().root / "papers"
    except FeedbenchError:  # the run was brought elsewhere: the page does without the paper
        return None
    candidates = (folder / f"{name}.toml" for name in (scenario, scenario.partition("-")[0]))
    path = next((path for path in candidates if path.is_file()), None)
    if path is None:
        return None
    from feedbench.papers import read_paper

    return read_paper(path)


def _studies(run: RunDirectory) -> list[str]:
    """The pages that `feedbench pipeline` wrote (spec/pipeline.md), relative to the page."""
    pages = (run.path / "pipeline").glob("**/study.html")
    return sorted(str(page.relative_to(run.path)) for page in pages)


def _tables(run: RunDirectory) -> list[str]:
    """The CSV tables that the analysis wrote, relative to the page."""
    return sorted(f"tables/{path.name}" for path in run.tables.glob("*.csv"))
