"""`feedbench agree RUN RUN…`: whether runs on different occasions contradict one another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from feedbench.errors import RunDirectoryError
from feedbench.paths import RunDirectory

if TYPE_CHECKING:
    from feedbench.analyze.agreement import Agreement
    from feedbench.findings import Findings


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(name="agree")(agree)


def agree(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or findings.json files kept of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Holds several runs of one scenario against each other, decision by decision.

    Status 1 when a pair was called different one way in one run and the other way in another.
    """
    from feedbench.analyze.agreement import agreement

    if len(runs) < 2:
        raise RunDirectoryError("one run agrees with itself", where=str(runs[0]), hint="name two or more")
    found = agreement([_findings(path) for path in runs])
    if not found.questions:
        raise RunDirectoryError(
            "no two of the runs decided about the same pair",
            where=", ".join(map(str, runs)),
            hint="name runs of one scenario",
        )
    if as_json:
        print(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        _print(found)
    if found.contradictions:
        raise typer.Exit(1)


def _findings(path: Path) -> Findings:
    """Of a run that was analyzed, or is now."""
    from feedbench.analyze import analyze_run
    from feedbench.findings import read_findings

    if path.is_file():
        return read_findings(path)
    run = RunDirectory(path)
    if not run.findings.exists():
        analyze_run(run)
    return read_findings(run.findings)


def _print(found: Agreement) -> None:
    table = Table(caption=", ".join(found.runs), caption_justify="left")
    for heading in ("question", "quantile", "pairs", "same way", "in one run alone", "never different"):
        table.add_column(heading)
    table.add_column("contradictory")
    for counts in found.questions:
        table.add_row(
            counts.question,
            counts.quantile,
            *(f"{n:,}" for n in (counts.pairs, counts.same_way, counts.once, counts.never)),
            f"{counts.contradictory:,}",
        )
    console = Console()
    console.print(table)
    for one in found.contradictions:
        ratios = ", ".join("–" if ratio is None else f"{ratio:.3f}" for ratio in one.ratios)
        console.print(f"{one.question} {one.quantile}: {one.pair[0]} / {one.pair[1]}: {ratios}")
