"""`feedbench compare BEFORE AFTER`: the same cells in two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from feedbench.errors import RunDirectoryError
from feedbench.paths import RunDirectory, read_json

if TYPE_CHECKING:
    from feedbench.analyze.upgrade import RunFacts, Upgrade


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(name="compare")(compare)


def compare(
    before: Annotated[Path, typer.Argument(help="The earlier run directory.")],
    after: Annotated[Path, typer.Argument(help="The later run directory.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Compares the same cells in two runs, for example before and after a library's upgrade.

    Ratios are after/before. The two runs were not measured side by side, so the warnings matter: they say
    what else changed, and whether cells changed that had no reason to.
    """
    from feedbench.analyze.upgrade import compare_runs

    upgrade = compare_runs(_facts(before), _facts(after))
    if not upgrade.changes:
        raise RunDirectoryError(
            "the runs have no cell and quantile in common",
            where=f"{before} and {after}",
            hint="compare two runs of one scenario",
        )
    if as_json:
        print(json.dumps(upgrade.to_json(), ensure_ascii=False))
    else:
        _print(upgrade)


def _facts(path: Path) -> RunFacts:
    """Of a run that was analyzed, or is now."""
    from feedbench.analyze import analyze_run
    from feedbench.analyze.upgrade import RunFacts

    run = RunDirectory(path)
    if not run.findings.exists():
        analyze_run(run)
    plan = _present(run.plan)
    return RunFacts(
        findings=read_json(run.findings, needed_for="compare the run"),
        host=_present(run.host),
        protocol=plan.get("protocol", {}),
        seed=plan.get("seed", 1),
    )


def _present(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = read_json(path, needed_for="compare the run") if path.exists() else {}
    return document


def _print(upgrade: Upgrade) -> None:
    table = Table(
        caption=f"{upgrade.before} → {upgrade.after}; a ratio below 1: faster after", caption_justify="left"
    )
    for heading in ("cell", "quantile", "after/before", "95 %", "decision", "version"):
        table.add_column(heading)
    for change in upgrade.changes:
        comparison = change.comparison
        interval = comparison.interval
        was, became = change.versions
        table.add_row(
            change.cell,
            change.quantile,
            "–" if comparison.ratio is None else f"{comparison.ratio:.3f}",
            "–" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}",
            comparison.outcome,
            str(was) if was == became else f"{was} → {became}",
        )
    Console().print(table)
    talk = Console(stderr=True)
    for name, cells in ((upgrade.before, upgrade.only_before), (upgrade.after, upgrade.only_after)):
        if cells:
            talk.print(f"only in {name}: {', '.join(cells)}")
    for warning in upgrade.warnings:
        talk.print(f"warning: {warning}", style="yellow")
