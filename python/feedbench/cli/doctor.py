"""`feedbench doctor`."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
