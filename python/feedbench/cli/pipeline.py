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

from feedbench.cli.cluster_options import TLS
from feedbench.cli.common import JSON, say
from feedbench.cluster.dask import need_dask
from feedbench.errors import FeedbenchError
from feedbench.paths import SCHEMA, RunDirectory
from feedbench.pipeline.partitions.order import LEAST_BYTES, CrewOrder
from feedbench.units import SIZE_HINT, parse_size


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
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="In parts, on so many processes of this machine.", show_default=False),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="In parts, on the workers of this scheduler (docs/scale.md).",
            show_default=False,
        ),
    ] = None,
    tls: TLS = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="With --workers or --cluster: for each, such as 2GB.", show_default=False
        ),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Compare the ages of the events that all clients of an exchange received: tables 1–12, figures 9–11.

    The exchange is told by the file (SQLite), by its name (CLIENT@EXCHANGE.stamps, or a folder named after
    the exchange), or by CLIENT@EXCHANGE=FILE. Ends with status 1 when nothing could be compared.
    """
    # It draws, which the other commands do not need.
    from feedbench.pipeline.campaign import analyze_files, analyze_run
    from feedbench.pipeline.write import PAGE

    crew = crew_order(workers, cluster, tls, memory_limit)
    run = RunDirectory(Path(files[0]))
    if len(files) == 1 and run.plan.is_file():
        if out is not None or one_clock:
            raise typer.BadParameter("--out and --one-clock are for files, not for a run directory")
        results = analyze_run(run, crew=crew, stage=progress_stage, say=say)
    elif out is None:
        raise typer.BadParameter("--out DIR is missing: where shall the results go?")
    else:
        results = [analyze_files(files, out, one_clock=one_clock, crew=crew, stage=progress_stage, say=say)]
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


def crew_order(
    workers: int | None, cluster: str | None, tls: Path | None, memory_limit: str | None
) -> CrewOrder | None:
    """None without --workers and --cluster; BadParameter when options don't go together."""
    if workers is not None and cluster is not None:
        raise typer.BadParameter("--workers are processes of this machine, --cluster has its own")
    if tls is not None and cluster is None:
        raise typer.BadParameter("--tls goes with --cluster")
    if workers is None and cluster is None:
        if memory_limit is not None:
            raise typer.BadParameter("--memory-limit goes with --workers or --cluster")
        return None
    need_dask()
    return CrewOrder(workers or 1, _memory_limit_bytes(memory_limit), cluster, tls)


def _memory_limit_bytes(text: str | None) -> int:
    """0 where there is none."""
    if text is None:
        return 0
    try:
        limit = parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(f"--memory-limit: {error} ({SIZE_HINT})") from error
    if limit < LEAST_BYTES:
        raise typer.BadParameter(
            f"--memory-limit: {text} is too little for Python and DuckDB, {LEAST_BYTES // 10**6} MB is enough"
        )
    return limit


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
