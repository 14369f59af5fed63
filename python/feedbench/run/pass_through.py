"""Commands that are a binary's: this process becomes it, so that signals, output and exit status are its
own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand

from feedbench.errors import EngineError
from feedbench.paths import Project


def register_engine_command(app: typer.Typer, name: str, *, short_help: str) -> None:
    """Adds a command that becomes `feedbench-engine <name>` with the same arguments."""

    def command(context: typer.Context) -> None:
        become(Project.find().engine, [name, *context.args])

    register_pass_through(app, name, command, short_help=short_help)


def register_exchange_command(app: typer.Typer, name: str, *, short_help: str) -> None:
    """Adds a command that becomes `feedbench-exchange` with the same arguments."""

    def command(context: typer.Context) -> None:
        become(Project.find().exchange, context.args)

    register_pass_through(app, name, command, short_help=short_help)


def register_pass_through(
    app: typer.Typer, name: str, command: Callable[[typer.Context], None], *, short_help: str
) -> None:
    """Adds a command whose arguments are all the binary's own, --help too: one place describes them."""
    app.command(name, cls=PassThroughCommand, short_help=short_help, add_help_option=False)(command)


class PassThroughCommand(TyperCommand):
    """Leaves all arguments as they are; click's own parser would take a `--` away."""

    # The context's class has moved between versions of typer.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads nothing."""
        ctx.args = args
        return args


def become(binary: Path, arguments: Sequence[str]) -> NoReturn:
    """Replaces this process; EngineError when there is no such binary to become."""
    try:
        os.execv(binary, [str(binary), *arguments])
    except OSError as error:
        raise EngineError.not_started(binary, error) from error
