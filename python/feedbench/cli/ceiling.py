"""`feedbench ceiling`."""

from __future__ import annotations

import typer

from feedbench.run.pass_through import become_engine


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(
        "ceiling",
        short_help="Measure this machine's raw TCP round trips, which no server can exceed.",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(ceiling)


def ceiling(context: typer.Context) -> None:
    """Becomes `feedbench-engine ceiling` with the same arguments."""
    become_engine("ceiling", context.args)
