"""A target's feed client put through cases: a process, an exchange and a record of its own for each."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from feedbench.handshake import HandshakeError
from feedbench.target import Target
from feedbench.verify.attempt import Attempt, attempts
from feedbench.verify.case import Case
from feedbench.verify.client_examination import AT_ONCE
from feedbench.verify.conditions import PATIENCE, Conditions
from feedbench.verify.conversation import converse
from feedbench.verify.departure import DepartureError
from feedbench.verify.feed_peer import FeedPeer
from feedbench.verify.verdicts import CaseVerdict


def examine_feed_client(
    target: Target, cases: Sequence[Case], *, conditions: Conditions
) -> dict[str, CaseVerdict]:
    """A verdict for each case, by id. What departs is tried again, with more patience."""
    at_once = min(conditions.at_once, AT_ONCE)
    found = attempts(cases, partial(_attempt, target, conditions, 1.0), at_once=at_once)
    departed = [attempt.case for attempt in found if attempt.departed]
    found += attempts(departed, partial(_attempt, target, conditions, PATIENCE), at_once=1)
    return {attempt.case.id: attempt.verdict for attempt in found}


def _attempt(target: Target, conditions: Conditions, patience: float, case: Case) -> Attempt:
    with (
        tempfile.TemporaryDirectory(prefix="feedbench-verify-") as folder,
        FeedPeer(
            case,
            target,
            project=conditions.project,
            folder=Path(folder),
            connect_timeout_s=conditions.ready_deadline_s,
            timeout_s=conditions.timeout_s * patience * case.patience,
        ) as client,
    ):
        return Attempt.at(case, partial(follow, case, client))


def _refuse(peer: FeedPeer) -> None:
    """It hangs up on a certificate that nobody vouches for."""
    try:
        peer.open()
    except (OSError, HandshakeError):
        return
    raise DepartureError("it trusts a certificate that nobody vouches for")


def follow(case: Case, peer: FeedPeer) -> None:
    """The conversation, if one is to come about, then how the client ended and what it took down."""
    if case.feed.refused:
        if case.feed.tls:
            _refuse(peer)
        peer.check_end()
        return
    converse(case, peer)
    peer.check_end()
    peer.check_record()
