"""`feedbench verify`: does each server answer rightly?"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from feedbench.cli.common import FILTERS, JSON, print_table, say
from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.registry import Registry, discover
from feedbench.target import Target
from feedbench.verify.case import read_cases
from feedbench.verify.examination import examine
from feedbench.verify.verdicts import EXPECTED, Verdicts, differences, read_expected, write_expected


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def verify(
        filters: FILTERS = None,
        as_json: JSON = False,
        update: Annotated[
            bool, typer.Option("--update", help="Take what is found as what is expected from now on.")
        ] = False,
    ) -> None:
        """Put built servers through the conformance cases, by default all that are built.

        Each case ends in pass, fail or unsupported. What differs from the target's expected.json is told, and
        makes the status 1: a known failure is no news, a new one is, and so is a case that passes at last.
        """
        project = Project.find()
        registry = discover(project)
        cases = read_cases(project.root / "conformance" / "ws")
        found, news = [], 0
        for target in chosen(registry, filters or []):
            say(f"{target.name}: {len(cases)} cases …")
            log = project.scratch / "logs" / f"verify-{target.id}.log"
            version = registry.states[target.name].version
            verdicts = examine(target, cases, project=project, log=log, version=version)
            found.append(verdicts)
            if update:
                write_expected(target, verdicts)
            news += _tell(target, verdicts)
        if as_json:
            print(json.dumps([verdicts.to_json() for verdicts in found], indent=1, ensure_ascii=False))
        else:
            _print(found)
        if news:
            say("not as expected; where it is right so, feedbench verify --update")
            sys.exit(1)


def chosen(registry: Registry, filters: list[str]) -> list[Target]:
    """The built servers among those that the filters name; FeedbenchError when there is none."""
    servers = [
        target for target in registry.select(filters) if "server" in target.roles and not target.on_hold
    ]
    built = [target for target in servers if registry.states[target.name].state == "built"]
    if not built:
        names = " ".join(filters)
        raise FeedbenchError("none of these targets is built", hint=f"feedbench build {names}".strip())
    for target in servers:
        if target not in built:
            say(f"{target.name}: left out, not built")
    return built


def _tell(target: Target, verdicts: Verdicts) -> int:
    """Says what is not as expected, and how much that is."""
    expected = read_expected(target)
    if not expected:
        say(f"{target.name}: it has no {EXPECTED} yet")
        return 1
    found = differences(verdicts, expected)
    for difference in found:
        say(f"{target.name}: {difference}")
    return len(found)


def _print(found: list[Verdicts]) -> None:
    print_table(
        ["target", "version", "pass", "fail", "unsupported", "failing"],
        [
            [
                verdicts.target,
                verdicts.version or "",
                str(verdicts.count("pass")),
                str(verdicts.count("fail")),
                str(verdicts.count("unsupported")),
                ", ".join(case.id for case in verdicts.cases if case.verdict == "fail"),
            ]
            for verdicts in found
        ],
    )
