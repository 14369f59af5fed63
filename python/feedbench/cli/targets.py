"""`feedbench targets`: who can be measured here."""

from __future__ import annotations

import json
from typing import Any

import typer

from feedbench.cli.common import FILTERS, JSON, print_table
from feedbench.paths import Project
from feedbench.registry import State, discover
from feedbench.target import Target


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def targets(filters: FILTERS = None, as_json: JSON = False) -> None:
        """List the targets, and which of them can be measured here.

        State: built (ready), available (its tools are here; `feedbench build` builds it), missing (the
        reason says what would bring it in).
        """
        registry = discover(Project.find())
        rows = [describe(target, registry.states[target.name]) for target in registry.select(filters or [])]
        if as_json:
            print(json.dumps(rows, indent=1, ensure_ascii=False))
            return
        print_table(
            ["target", "language", "version", "state", "reason"],
            [
                [row["name"], row["language"], row["version"] or "", row["state"], row["reason"] or ""]
                for row in rows
            ],
        )


def describe(target: Target, state: State) -> dict[str, Any]:
    """One entry of `feedbench targets --json`. A failed build can be tried again, so it is available."""
    shown, reason = state.state, state.reason
    if target.on_hold:
        shown, reason = "missing", f"on hold: {target.reason}"
    elif state.state == "failed":
        shown, reason = "available", f"the last build failed: {state.reason}"
    return {
        "name": target.name,
        "language": target.language,
        "library": target.library,
        "version": state.version,
        "roles": list(target.roles),
        "speaks": list(target.speaks),
        "state": shown,
        "reason": reason,
    }
