"""A target's client put through cases: a process and a server of our own for each."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from feedbench.target import Target
from feedbench.verify.attempt import Attempt, attempts
from feedbench.verify.case import Case
from feedbench.verify.client_peer import EchoClientPeer
from feedbench.verify.conditions import PATIENCE, Conditions
from feedbench.verify.verdicts import CaseVerdict

# Each is a process that loads a runtime first.
AT_ONCE = 6
# How long a client is told to go on. The conversation takes some milliseconds of it; the rest is for starts
# on a busy machine.
DURATION_S = 0.7


def examine_client(
    target: Target, cases: Sequence[Case], *, conditions: Conditions
) -> dict[str, CaseVerdict]:
    """A verdict for each case, by id. What departs is tried again: its time may have been up too soon."""
    at_once = min(conditions.at_once, AT_ONCE)
    found = attempts(cases, partial(_attempt, target, conditions, 1.0), at_once=at_once)
    departed = [attempt.case for attempt in found if attempt.departed]
    found += attempts(departed, partial(_attempt, target, conditions, PATIENCE), at_once=at_once)
    return {attempt.case.id: attempt.verdict for attempt in found}


def _attempt(target: Target, conditions: Conditions, patience: float, case: Case) -> Attempt:
    with (
        tempfile.TemporaryDirectory(prefix="feedbench-verify-") as folder,
        EchoClientPeer(
            case,
            target,
            project=conditions.project,
            folder=Path(folder),
            connect_timeout_s=conditions.ready_deadline_s,
            timeout_s=conditions.timeout_s * patience,
            duration_s=DURATION_S * patience,
        ) as client,
    ):
        return Attempt.of(case, client)
