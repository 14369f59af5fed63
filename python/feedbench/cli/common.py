"""What the commands share: filters, --json, tables on stdout, talk on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

FILTERS = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILTER", help="Names, languages or globs: node/ws, python, '*/ws'.", show_default=False
    ),
]
GAP = 2  # between columns
LAST_COLUMN_AT_LEAST = 20
JSON = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def say(line: str) -> None:
    """Talk: to stderr, at once, so that stdout stays for data."""
    print(line, file=sys.stderr, flush=True)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on stdout; the last column takes what width is left and wraps. Nothing in it is markup.

    Where nobody looks (a pipe, a file) no other column is cut to make it fit.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading != headings[-1])
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        whole = sum(width + GAP for width in widths[:-1]) + min(widths[-1], LAST_COLUMN_AT_LEAST)
        console.width = max(console.width, whole)
    console.print(table)
