"""`feedbench analyze RUN`: raw samples in, findings.json, tables and the ranking out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from feedbench.paths import RunDirectory


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(name="analyze")(analyze)


def analyze(
    run: Annotated[
        Path, typer.Argument(help="A run directory, whole or interrupted, yours or somebody else's.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print findings.json instead of the ranking.")
    ] = False,
) -> None:
    """Decides what a run has shown: writes findings.json and tables/ into it, and prints the ranking.

    It reads raw samples and changes none, so it can be repeated on any run. A run that stopped early is
    analyzed as far as it went.
    """
    # Loads scientific libraries, which the other commands don't wait for.
    from feedbench.analyze import analyze_run, ranking_text

    findings = analyze_run(RunDirectory(run))
    print(json.dumps(findings.to_json(), ensure_ascii=False) if as_json else ranking_text(findings))
