"""`feedbench exchange`."""

from __future__ import annotations

import typer

from feedbench.run.pass_through import register_exchange_command


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    register_exchange_command(
        app,
        "exchange",
        short_help="Run a simulated exchange: WebSocket and REST servers that speak as the real ones do.",
    )
