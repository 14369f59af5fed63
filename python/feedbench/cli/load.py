"""`feedbench load`."""

from __future__ import annotations

import typer

from feedbench.run.pass_through import become_engine


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(
        "load",
        short_help="Put load on a WebSocket server and say how long its answers took.",
        # Every argument is the engine's own, --help too: one place describes them.
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(load)


def load(context: typer.Context) -> None:
    """Becomes `feedbench-engine load` with the same arguments."""
    become_engine("load", context.args)
