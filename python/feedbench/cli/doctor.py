"""`feedbench doctor`: what on this machine would spoil a measurement, and what to try."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from feedbench.cli.common import JSON
from feedbench.errors import EngineError
from feedbench.host.brackets import RUNTIMES, Bracket, bracket_runtime
from feedbench.host.doctor import Check, examine
from feedbench.host.facts import HostFacts, read_facts
from feedbench.host.jitter import measure_jitter
from feedbench.host.shield import probe_shield
from feedbench.paths import Project

BRACKET_ROUNDS = 3_000
JITTER_SECONDS = 5.0
QUICK_BRACKET_ROUNDS = 300
QUICK_JITTER_SECONDS = 0.5
STYLES = {"ok": "green", "caution": "yellow", "problem": "bold red"}


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("doctor", short_help="Say what on this machine would spoil a measurement, and what to try.")(
        doctor
    )


def doctor(
    *,
    as_json: JSON = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter loops: a few seconds in all.")] = False,
) -> None:
    """Look at this machine: every runtime's clock, every CPU's jitter, scheduling, limits; say what to try.

    Ends with status 1 when something is a problem, 0 when there are only cautions.
    """
    project = Project.find()
    facts = read_facts()
    # Compiled stamp programs are kept: Go alone takes seconds to build its own.
    brackets = _brackets(project.scratch / "clocks", QUICK_BRACKET_ROUNDS if quick else BRACKET_ROUNDS)
    jitter = _jitter(project.engine, facts, QUICK_JITTER_SECONDS if quick else JITTER_SECONDS)
    checks = examine(facts, shield=probe_shield().description, brackets=brackets, jitter=jitter)
    if as_json:
        typer.echo(json.dumps(_document(facts, checks, brackets, jitter), indent=1, ensure_ascii=False))
    else:
        _print(checks)
    if any(check.state == "problem" for check in checks):
        raise typer.Exit(1)


def _brackets(scratch: Path, rounds: int) -> list[Bracket]:
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        return [bracket_runtime(runtime, rounds=rounds, scratch=scratch) for runtime in RUNTIMES]
    except OSError:  # a checkout that may not be written to
        with tempfile.TemporaryDirectory() as elsewhere:
            return [bracket_runtime(runtime, rounds=rounds, scratch=Path(elsewhere)) for runtime in RUNTIMES]


def _jitter(engine: Path, facts: HostFacts, seconds: float) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for cpu in facts.cpus_allowed:
        try:
            found[cpu] = measure_jitter(engine, cpu=cpu, duration_s=seconds)
        except EngineError as error:
            found[cpu] = error.what
    return found


def _document(
    facts: HostFacts, checks: tuple[Check, ...], brackets: list[Bracket], jitter: dict[int, Any]
) -> dict[str, Any]:
    return {
        **facts.document(),
        "checks": [asdict(check) for check in checks],
        "brackets": [asdict(bracket) for bracket in brackets],
        "jitter": [
            {"cpu": cpu, "problem": found} if isinstance(found, str) else found
            for cpu, found in jitter.items()
        ],
    }


def _print(checks: tuple[Check, ...]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        advice = f"\n→ {check.advice}" if check.advice else ""
        style = STYLES[check.state]
        table.add_row(f"[{style}]{check.state}[/]", check.name, f"{check.found}{advice}")
    Console().print(table)
