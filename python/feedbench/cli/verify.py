"""`feedbench verify`: does each target do what the protocols and our contracts say?"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from feedbench.cli.common import FILTERS, JSON, print_table, say
from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.registry import Registry, discover
from feedbench.target import Target
from feedbench.verify.campaign import examine_all
from feedbench.verify.case import Case, read_cases
from feedbench.verify.examination import roles
from feedbench.verify.matrix import matrix
from feedbench.verify.verdicts import EXPECTED, Verdicts, differences, read_expected, write_expected

# More new cases than these are a suite that grew, which is said once.
SHOWN_NEW = 10


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def verify(
        filters: FILTERS = None,
        as_json: JSON = False,
        update: Annotated[
            bool, typer.Option("--update", help="Take what is found as what is expected from now on.")
        ] = False,
        as_matrix: Annotated[
            bool, typer.Option("--matrix", help="Print a table of targets and groups of cases instead.")
        ] = False,
        jobs: Annotated[
            int,
            typer.Option(
                "--jobs", "-j", min=1, help="How many targets at a time.", show_default="one for each CPU"
            ),
        ] = os.cpu_count() or 1,
    ) -> None:
        """Put built targets through the conformance cases, by default all that are built.

        Each case ends in pass, fail or unsupported. What differs from the target's expected.json is told, and
        makes the status 1: a known failure is no news, a new one is, and so is a case that passes at last.
        """
        project = Project.find()
        registry = discover(project)
        cases = [*read_cases(project.conformance / "ws"), *read_cases(project.conformance / "feed")]
        targets = chosen(registry, filters or [])
        say(f"{len(targets)} targets, {len(cases)} cases, {jobs} at a time")
        found, news = [], 0
        for target, verdicts in examine_all(targets, cases, project=project, registry=registry, jobs=jobs):
            found.append(verdicts)
            if update:
                _update(target, verdicts)
            news += _tell(target, verdicts)
        found.sort(key=lambda verdicts: verdicts.target)
        _print(found, cases, as_matrix=as_matrix, as_json=as_json)
        if news:
            say("not as expected; where it is right so, feedbench verify --update")
            sys.exit(1)


def chosen(registry: Registry, filters: list[str]) -> list[Target]:
    """Those that the filters name, there is something to start of, and are built; FeedbenchError when there
    is none.
    """
    active = [target for target in registry.select(filters) if not target.on_hold]
    able = [target for target in active if roles(target)]
    if filters:
        for target in active:
            if target not in able:
                say(f"{target.name}: no cases for its door ({', '.join(target.doors) or 'none'})")
    if not able and filters:
        raise FeedbenchError(
            "there are no cases for any of these",
            hint="pytest tests/targets asks of FIX clients and pollers what their contract says",
        )
    built = [target for target in able if registry.states[target.name].state == "built"]
    if not built:
        names = " ".join(filters)
        raise FeedbenchError("none of these targets is built", hint=f"feedbench build {names}".strip())
    for target in able:
        if target not in built:
            say(f"{target.name}: left out, not built")
    return built


def _update(target: Target, verdicts: Verdicts) -> None:
    """A target that passes nothing was not examined: it did not start."""
    if verdicts.count("pass"):
        write_expected(target, verdicts)
    else:
        say(f"{target.name}: {EXPECTED} is left as it was, since it passes nothing")


def _tell(target: Target, verdicts: Verdicts) -> int:
    """Says what is not as expected, and how much that is."""
    expected = read_expected(target)
    if not expected:
        say(f"{target.name}: it has no {EXPECTED} yet")
        return 1
    found = differences(verdicts, expected)
    new = [difference for difference in found if difference.expected is None]
    if len(new) > SHOWN_NEW:
        say(f"{target.name}: {len(new)} cases that {EXPECTED} does not know yet")
    for difference in found:
        if difference not in new or len(new) <= SHOWN_NEW:
            say(f"{target.name}: {difference}")
    return len(found)


def _print(found: list[Verdicts], cases: list[Case], *, as_matrix: bool, as_json: bool) -> None:
    if as_matrix and as_json:
        print(json.dumps(matrix(found, cases).to_json(), indent=1))
    elif as_matrix:
        print(matrix(found, cases).text())
    elif as_json:
        print(json.dumps([verdicts.to_json() for verdicts in found], indent=1, ensure_ascii=False))
    else:
        print_table(["target", "version", "pass", "fail", "of it advice", "unsupported"], rows(found))


def rows(found: list[Verdicts]) -> list[list[str]]:
    """`of it advice` counts failures of what the RFC says with SHOULD."""
    return [
        [
            verdicts.target,
            verdicts.version or "",
            str(verdicts.count("pass")),
            str(verdicts.count("fail")),
            str(sum(case.is_advice for case in verdicts.cases)),
            str(verdicts.count("unsupported")),
        ]
        for verdicts in found
    ]
