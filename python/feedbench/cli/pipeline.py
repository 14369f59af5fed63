"""`feedbench pipeline`: what feed clients received, as the tables and figures of Papík's study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from feedbench.cli.common import JSON, say
from feedbench.errors import FeedbenchError


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("pipeline", short_help="Papík's tables and figures from what feed clients received.")(
        pipeline
    )


def pipeline(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN_DIR | DIR | FILE | CLIENT@EXCHANGE=FILE …",
            help="A run directory, or stamps files, SQLite files of the paper's schema, recordings, folders.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the results go. Default: pipeline/ in the run directory."),
    ] = None,
    one_clock: Annotated[
        bool,
        typer.Option(
            "--one-clock", help="All clients ran on one host: its clock's error is in all ages alike."
        ),
    ] = False,
    as_json: JSON = False,
) -> None:
    """Compare the ages of the events that all clients of an exchange received: tables 1–12, figures 9–11.

    The exchange is told by the file (SQLite), by its name (CLIENT@EXCHANGE.stamps, or a folder named after
    the exchange), or by CLIENT@EXCHANGE=FILE. Ends with status 1 when nothing could be compared.
    """
    # It draws, which the other commands do not need.
    from feedbench.pipeline.campaign import analyze_files, analyze_run, is_run

    run = Path(files[0])
    if len(files) == 1 and is_run(run):
        study = analyze_run(run, out, stage=progress_stage)
        where = out or run / "pipeline"
    else:
        if out is None:
            raise FeedbenchError("--out DIR is missing: where shall the results go?")
        study = analyze_files(files, out, one_clock=one_clock, stage=progress_stage)
        where = out
    for problem in study.problems:
        say(f"{problem}")
    if as_json:
        print(json.dumps(study.to_json(), ensure_ascii=False))
    else:
        print((where / "study.md").resolve())
    if not any(each.summary for exchange in study.exchanges for each in exchange.series):
        raise FeedbenchError("no event could be compared", where=str(where), hint="see the lines above")


@contextmanager
def progress_stage(name: str, messages: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr with the time that is left; where the number is unknown, only how many are done."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task(name, total=messages)

        def advance(more: int) -> None:
            bar.advance(task, more)

        yield advance
