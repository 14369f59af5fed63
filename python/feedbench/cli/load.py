"""`feedbench load`."""

from __future__ import annotations

import typer

from feedbench.run.pass_through import register_engine_command


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    register_engine_command(
        app, "load", short_help="Put load on a WebSocket server and say how long its answers took."
    )
