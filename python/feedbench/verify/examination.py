"""Puts one target through all cases: a connection and a verdict for each, whatever happens."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from feedbench.errors import TargetError
from feedbench.launch import Server, UnsupportedError, serve
from feedbench.paths import Project
from feedbench.target import Target
from feedbench.verify.case import Case
from feedbench.verify.conversation import DepartureError, RefusalError, converse
from feedbench.verify.verdicts import CaseVerdict, Verdicts

TIMEOUT_S = 3.0
READY_DEADLINE_S = 15.0
# After so many servers that died, the rest of the cases would only take time to say the same.
STARTS = 5
LAST_MOMENT_S = 0.05


def examine(
    target: Target,
    cases: Sequence[Case],
    *,
    project: Project,
    log: Path,
    version: str | None = None,
    timeout_s: float = TIMEOUT_S,
    ready_deadline_s: float = READY_DEADLINE_S,
) -> Verdicts:
    """One verdict for each case, in their order. A server that dies is a failed case and is started anew."""
    verdicts: list[CaseVerdict] = []
    cause: TargetError | None = None
    for _ in range(STARTS):
        if len(verdicts) == len(cases):
            break
        try:
            with serve(target, project=project, log=log, deadline_s=ready_deadline_s) as server:
                for case in cases[len(verdicts) :]:
                    verdicts.append(_verdict(case, server, timeout_s))
                    if server.process.poll() is not None:
                        break
        except TargetError as error:
            cause = error
            break
    verdicts += [_unreached(case, cause) for case in cases[len(verdicts) :]]
    return Verdicts(target=target.name, version=version, cases=tuple(verdicts))


def _verdict(case: Case, server: Server, timeout_s: float) -> CaseVerdict:
    if case.model not in server.target.models:
        return CaseVerdict(case.id, "unsupported", f"it does not serve /{case.model}")
    try:
        converse(case, server, timeout_s=timeout_s)
    except RefusalError as refusal:
        return CaseVerdict(case.id, "unsupported", str(refusal))
    except (DepartureError, OSError) as departure:
        death = _death(server)
        return CaseVerdict(case.id, "fail", f"{departure}; {death}" if death else str(departure))
    return CaseVerdict(case.id, "pass", None)


def _death(server: Server) -> TargetError | None:
    """Why the server is gone, None while it runs. Its sockets break a moment before its end can be seen."""
    if server.ending is not None:
        return None
    with suppress(subprocess.TimeoutExpired):
        server.process.wait(LAST_MOMENT_S)
    try:
        server.connect(timeout_s=TIMEOUT_S).close()
    except OSError:
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(TIMEOUT_S)
    return server.cause_of_death()


def _unreached(case: Case, cause: TargetError | None) -> CaseVerdict:
    if isinstance(cause, UnsupportedError):
        return CaseVerdict(case.id, "unsupported", str(cause))
    return CaseVerdict(
        case.id, "fail", str(cause) if cause else f"the server died {STARTS} times before this case"
    )
