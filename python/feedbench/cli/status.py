"""`feedbench status`: how supervised clients are, as a table that renews itself."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from feedbench.cli.common import JSON, print_table
from feedbench.paths import SCHEMA
from feedbench.report.numbers import DASH, size
from feedbench.supervise.folder import Folder
from feedbench.supervise.status import SeriesStatus, read_status
from feedbench.supervise.task import read_task
from feedbench.units import format_duration

RENEW_S = 1.0
HEADINGS = (
    "client@exchange",
    "state",
    "process",
    "up for",
    "starts",
    "deaths",
    "down for",
    "record",
    "quiet for",
)


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("status", short_help="How supervised feed clients are.")(status)


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A supervisor's folder.")],
    once: Annotated[bool, typer.Option("--once", help="Print it once instead of renewing it.")] = False,
    as_json: JSON = False,
) -> None:
    """Show each client: whether it lives, since when, how often it died, how long it was down, what it has.

    Renews itself every second on a terminal until ^C.
    """
    place = Folder(folder)
    task = read_task(place.task)
    if as_json:
        series = [{**asdict(one), "series": str(one.series)} for one in read_status(place, task)]
        print(json.dumps({"schema": SCHEMA, "series": series}))
    elif once or not sys.stdout.isatty():
        print_table(HEADINGS, _rows(read_status(place, task)))
    else:
        with Live(_table(read_status(place, task)), auto_refresh=False) as live:
            while True:
                time.sleep(RENEW_S)
                live.update(_table(read_status(place, task)), refresh=True)


def _table(series: Sequence[SeriesStatus]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=True)
    for one, row in zip(series, _rows(series), strict=True):
        style = "" if one.state in ("up", "ended") else "bold red"
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def _rows(series: Sequence[SeriesStatus]) -> list[tuple[str, ...]]:
    return [
        (
            str(one.series),
            one.state,
            str(one.pid or DASH),
            _duration(one.up_ns),
            str(one.starts),
            str(one.deaths),
            _duration(one.down_ns) if one.deaths else DASH,
            size(one.record_bytes),
            _duration(one.quiet_ns),
        )
        for one in series
    ]


def _duration(value_ns: int | None) -> str:
    return DASH if value_ns is None else format_duration(value_ns)
