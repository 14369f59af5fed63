"""`feedbench paper [NAME]`: a published study's tables, checked by arithmetic."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.suggest import nearest

if TYPE_CHECKING:
    from feedbench.papers import Paper, Verdict


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(name="paper")(paper)


def paper(
    name: Annotated[
        str | None, typer.Argument(help="A study in papers/; without it, all are listed.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", help="Check this file instead, in the form of papers/*.toml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Checks the printed tables of a published study: Little's law, counts, order of the figures.

    Ends with status 1 when a table holds impossible numbers.
    """
    from feedbench.papers import check_paper, read_paper

    if check is None and name is None:
        for path in _papers():
            study = read_paper(path)
            print(f"{study.name}: {study.title} ({study.source})")
        return
    study = read_paper(check or _find(name or ""))
    verdicts = check_paper(study)
    if as_json:
        document = {"schema": 1, "name": study.name, "verdicts": [asdict(verdict) for verdict in verdicts]}
        print(json.dumps(document, ensure_ascii=False))
    else:
        _print(study, verdicts)
    if any(verdict.broken for verdict in verdicts):
        raise typer.Exit(1)


def _papers() -> list[Path]:
    return sorted((Project.find().root / "papers").glob("*.toml"))


def _find(name: str) -> Path:
    known = {path.stem: path for path in _papers()}
    if name not in known:
        raise FeedbenchError(f'there is no study "{name}" in papers/', hint=nearest(name, known))
    return known[name]


def _print(study: Paper, verdicts: list[Verdict]) -> None:
    print(f"{study.title}\n{study.source}")
    for table in study.tables:
        own = [verdict for verdict in verdicts if verdict.table == table.id]
        broken = [verdict for verdict in own if verdict.broken]
        passed = f"{len(own) - len(broken)} of {len(own)} checks pass"
        print(f"\n{table.id} ({table.where}): {len(table.rows)} rows, {passed}")
        for verdict in broken:
            print(f"  refused: row {verdict.row}, {verdict.check}: {verdict.broken}")
    if study.defects:
        print("\nWhat arithmetic can't see:")
    for defect in study.defects:
        print(f"- {defect.text}" + (f" ({defect.experiment})" if defect.experiment else ""))
