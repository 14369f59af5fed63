"""`feedbench ceiling`."""

from __future__ import annotations

import typer

from feedbench.run.pass_through import register_engine_command


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    register_engine_command(
        app, "ceiling", short_help="Measure this machine's raw TCP round trips, which no server can exceed."
    )
