"""Commands that are the engine's: this process becomes it, so that signals, output and exit status are its
own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

import typer

from feedbench.errors import EngineError
from feedbench.paths import Project


def register_engine_command(app: typer.Typer, name: str, *, short_help: str) -> None:
    """Adds a command that becomes `feedbench-engine <name>` with the same arguments."""

    def command(context: typer.Context) -> None:
        become_engine(name, context.args)

    app.command(
        name,
        short_help=short_help,
        # Every argument is the engine's own, --help too: one place describes them.
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(command)


def become_engine(command: str, arguments: Sequence[str]) -> NoReturn:
    """Replaces this process; EngineError when there is no engine to become."""
    engine = Project.find().engine
    try:
        os.execv(engine, [str(engine), command, *arguments])
    except OSError as error:
        raise EngineError.not_started(engine, error) from error
