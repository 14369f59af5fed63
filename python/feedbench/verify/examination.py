"""Puts one target through all cases that are for it: a verdict for each, whatever happens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from feedbench.paths import Project
from feedbench.target import Target
from feedbench.verify.case import Case, Role
from feedbench.verify.client_examination import examine_client
from feedbench.verify.conditions import AT_ONCE, READY_DEADLINE_S, TIMEOUT_S, Conditions
from feedbench.verify.feed_examination import examine_feed_client
from feedbench.verify.server_examination import examine_server
from feedbench.verify.verdicts import CaseVerdict, Verdicts


def examine(
    target: Target,
    cases: Sequence[Case],
    *,
    project: Project,
    log: Path,
    version: str | None = None,
    timeout_s: float = TIMEOUT_S,
    ready_deadline_s: float = READY_DEADLINE_S,
    at_once: int = AT_ONCE,
) -> Verdicts:
    """One verdict for each case of the target's roles, in their order."""
    conditions = Conditions(
        project=project, log=log, timeout_s=timeout_s, ready_deadline_s=ready_deadline_s, at_once=at_once
    )
    for_it = [case for case in cases if case.role in roles(target)]
    verdicts: dict[str, CaseVerdict] = {}
    tried = []
    for case in for_it:
        if (reason := out_of_reach(case, target)) is None:
            tried.append(case)
        else:
            verdicts[case.id] = CaseVerdict(case.id, "unsupported", reason)
    server_cases = [case for case in tried if case.role == "server"]
    for knobs in distinct_knobs(server_cases):
        group = [case for case in server_cases if case.knobs == knobs]
        verdicts |= examine_server(target, group, knobs=knobs, conditions=conditions)
    client_cases = [case for case in tried if case.role == "client"]
    verdicts |= examine_client(target, client_cases, conditions=conditions)
    feed_cases = [case for case in tried if case.role == "feed"]
    verdicts |= examine_feed_client(target, feed_cases, conditions=conditions)
    return Verdicts(target=target.name, version=version, cases=tuple(verdicts[case.id] for case in for_it))


def roles(target: Target) -> set[Role]:
    """Those that there is something to start for."""
    found: set[Role] = set()
    if target.server_command is not None:
        found.add("server")
    if target.echo_client_command is not None:
        found.add("client")
    if "ws" in target.doors:
        found.add("feed")
    return found


def out_of_reach(case: Case, target: Target) -> str | None:
    """Why the target's manifest says beforehand that it does not do this; None when it is to show it."""
    if case.role == "server" and case.model not in target.models:
        return f"it does not serve /{case.model}"
    if case.feed.tls and "wss" not in target.speaks:
        return "it does not speak wss"
    lacking = [f"{knob}={value}" for knob, value in case.knobs.items() if not target.takes(knob, value)]
    return f"it has no {' or '.join(lacking)}" if lacking else None


def distinct_knobs(cases: Iterable[Case]) -> list[dict[str, str]]:
    """Each setting once, in the order of the cases: a server is started for each."""
    found: list[dict[str, str]] = []
    for case in cases:
        if dict(case.knobs) not in found:
            found.append(dict(case.knobs))
    return found
