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
from feedbench.paths import SCHEMA, RunDirectory


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
        typer.Option(metavar="DIR", help="Where the results go; those of a run go to its pipeline/."),
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
    from feedbench.pipeline.campaign import analyze_files, analyze_run
    from feedbench.pipeline.write import PAGE

    run = RunDirectory(Path(files[0]))
    if len(files) == 1 and run.plan.is_file():
        if out is not None or one_clock:
            raise typer.BadParameter("--out and --one-clock are for files, not for a run directory")
        results = analyze_run(run, stage=progress_stage)
    elif out is None:
        raise typer.BadParameter("--out DIR is missing: where shall the results go?")
    else:
        results = [analyze_files(files, out, one_clock=one_clock, stage=progress_stage)]
    for result in results:
        for problem in result.study.problems:
            say(str(problem))
    if as_json:
        documents = [result.study.to_json() for result in results]
        print(json.dumps({"schema": SCHEMA, "studies": documents}, ensure_ascii=False))
    else:
        for result in results:
            print((result.folder / PAGE).resolve())
    if not any(result.study.compared for result in results):
        raise FeedbenchError("no event could be compared", hint="see the lines above")


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
