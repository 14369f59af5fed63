"""`feedbench report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from feedbench.errors import RunDirectoryError
from feedbench.paths import RunDirectory


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("report", short_help="Draw report.html and figures/ from the findings of a run.")(report)


def report(
    run_dir: Annotated[
        Path, typer.Argument(metavar="RUN_DIR", help="The run directory, with its findings.json.")
    ],
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svg", help="Draw only the headline's ranking, for a README, into this file."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the paths of what was written as JSON.")
    ] = False,
) -> None:
    """Draw report.html and figures/ from the findings of a run.

    The page is one file that needs no network. Every figure is also written as SVG and PNG into figures/.
    """
    # Altair and vl-convert take a second to load, which the other commands need not wait for.
    from feedbench.report import write_picture, write_report

    if not run_dir.is_dir():
        raise RunDirectoryError(
            "there is no such run directory", where=str(run_dir), hint="feedbench run makes one"
        )
    run = RunDirectory(run_dir)
    if picture is not None:
        written: dict[str, Any] = {"picture": str(write_picture(run, picture))}
    else:
        page = write_report(run)
        names = sorted(path.name for path in run.figures.iterdir() if path.suffix in {".svg", ".png"})
        written = {"report": str(page), "figures": [str(run.figures / name) for name in names]}
    print(json.dumps({"schema": 1, **written}) if as_json else next(iter(written.values())))
