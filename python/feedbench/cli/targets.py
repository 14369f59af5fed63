"""`feedbench targets`: who can be measured here."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from feedbench import balancer
from feedbench.cli.common import FILTERS, JSON, print_table
from feedbench.errors import FeedbenchError
from feedbench.needs import debian_packages, missing_need, remembering
from feedbench.paths import Project
from feedbench.registry import State, discover
from feedbench.target import Need, Target


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def targets(
        filters: FILTERS = None,
        as_json: JSON = False,
        debian: Annotated[
            bool,
            typer.Option(
                "--debian",
                help="Print only the Debian packages that bring what targets and the launcher lack.",
            ),
        ] = False,
        check: Annotated[
            bool, typer.Option("--check", help="Exit with status 1 when a manifest is broken.")
        ] = False,
    ) -> None:
        """List the targets, and which of them can be measured here.

        State: built (ready), available (what it needs is here; `feedbench build` builds it), missing (the
        reason says what would bring it in), broken (its manifest can't be read; the reason names the line).
        """
        probe = remembering(missing_need)
        registry = discover(Project.find(), probe=probe)
        if debian:
            needs = [need for target in registry.select(filters or []) for need in wanted_needs(target)]
            needs += [] if filters else [balancer.NEED]
            for package in debian_packages(needs, probe=probe):
                print(package)
            return
        rows = [describe(target, registry.states[target.name]) for target in registry.select(filters or [])]
        rows += [broken_row(name, reason) for name, reason in registry.broken.items() if not filters]
        if as_json:
            print(json.dumps(rows, indent=1, ensure_ascii=False))
        else:
            columns = ("name", "language", "version", "state", "reason")
            print_table(["target", *columns[1:]], [[row[name] or "" for name in columns] for row in rows])
        if check and registry.broken:
            raise FeedbenchError(
                f"{len(registry.broken)} manifests can't be read: {', '.join(registry.broken)}"
            )


def wanted_needs(target: Target) -> tuple[Need, ...]:
    """Nothing is installed for a target that is on hold."""
    return () if target.on_hold else target.needs


def broken_row(name: str, reason: str) -> dict[str, Any]:
    """Of a target of which nothing else is known."""
    unknown = dict.fromkeys(("language", "library", "version"))
    return {"name": name, **unknown, "roles": [], "speaks": [], "state": "broken", "reason": reason}


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
