"""A target's server put through cases: many connections at once, and one by one where that is not enough.

What departs from its case in the crowd is tried again by itself. A server that dies under the crowd does not
tell at which case. Then those that departed are tried alone, with a fresh server after each death. A case
that asks for one has a server of its own from the start.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from feedbench.errors import TargetError
from feedbench.handshake import HandshakeError, open_websocket
from feedbench.launch import Server, UnsupportedError, serve
from feedbench.target import Target
from feedbench.verify.attempt import Attempt, attempts
from feedbench.verify.case import Case
from feedbench.verify.conditions import Conditions
from feedbench.verify.server_peer import ServerPeer
from feedbench.verify.verdicts import CaseVerdict, Verdict

# After so many servers that died, the rest of the cases would only take time to say the same.
STARTS = 5
LAST_MOMENT_S = 0.05
SILENT_ONE_BY_ONE = 6


def examine_server(
    target: Target, cases: Sequence[Case], *, knobs: Mapping[str, str], conditions: Conditions
) -> dict[str, CaseVerdict]:
    """A verdict for each case, by id."""
    examination = _ServerExamination(target, knobs, conditions)
    shared = [case for case in cases if not case.own_server]
    alone = examination.crowd([case for case in shared if not case.ends_the_server])
    examination.one_by_one([*alone, *(case for case in shared if case.ends_the_server)])
    for case in cases:
        if case.own_server:
            examination.one_by_one([case])
    return examination.verdicts


class _ServerExamination:
    def __init__(self, target: Target, knobs: Mapping[str, str], conditions: Conditions) -> None:
        self.target = target
        self.knobs = knobs
        self.conditions = conditions
        self.verdicts: dict[str, CaseVerdict] = {}

    def crowd(self, cases: Sequence[Case]) -> list[Case]:
        """Tries all at once; returns those that are to be tried alone, since the server did not survive."""
        if not cases:
            return []
        try:
            with self._serve() as server:
                found = self._try(cases, server, self.conditions.timeout_s, at_once=self.conditions.at_once)
                if self._broken(server) is None:
                    found += self._again(found, server)
                survived = self._broken(server) is None
        except TargetError as error:
            self._unreached(cases, error)
            return []
        last = {attempt.case.id: attempt for attempt in found}
        self.verdicts |= {name: attempt.verdict for name, attempt in last.items()}
        return [] if survived else [case for case in cases if last[case.id].departed]

    def _again(self, found: Sequence[Attempt], server: Server) -> list[Attempt]:
        """What departed, without the crowd: a case is one conversation, and silence may be the machine's."""
        departed = [attempt for attempt in found if attempt.departed]
        silent = [attempt.case for attempt in departed if attempt.silent]
        told = [attempt.case for attempt in departed if not attempt.silent]
        # So many long silences one after the other would take minutes, to say the same.
        at_once = 1 if len(silent) <= SILENT_ONE_BY_ONE else self.conditions.at_once
        patience_s = self.conditions.last_timeout_s
        second = self._try(told, server, patience_s, at_once=1)
        second += self._try(silent, server, patience_s, at_once=at_once)
        first = {attempt.case.id: attempt for attempt in departed}
        return [attempt.remembering(first[attempt.case.id]) for attempt in second]

    def one_by_one(self, cases: Sequence[Case]) -> None:
        """With a fresh server after each death, and the last patience."""
        left = list(cases)
        for _ in range(STARTS):
            if not left:
                return
            try:
                with self._serve() as server:
                    while left and not self._alone(left.pop(0), server):
                        pass
            except TargetError as error:
                self._unreached(left, error)
                return
        self._unreached(left, None)

    def _alone(self, case: Case, server: Server) -> bool:
        """Records the verdict; whether the server is now gone."""
        (attempt,) = self._try([case], server, self.conditions.last_timeout_s, at_once=1)
        verdict = attempt.verdict
        if verdict.verdict == "pass":
            self.verdicts[case.id] = verdict
            return server.process.poll() is not None
        death = None if server.ending is not None else self._broken(server)
        if death is not None:
            verdict = CaseVerdict(case.id, "fail", f"{verdict.detail}; {death}")
        self.verdicts[case.id] = verdict
        return death is not None or server.ending is not None

    def _serve(self) -> AbstractContextManager[Server]:
        log = self.conditions.log
        if self.knobs:
            setting = ",".join(f"{knob}={value}" for knob, value in self.knobs.items())
            log = log.with_name(f"{log.stem}-{setting}{log.suffix}")
        return serve(
            self.target,
            project=self.conditions.project,
            log=log,
            knobs=self.knobs,
            deadline_s=self.conditions.ready_deadline_s,
        )

    def _try(self, cases: Sequence[Case], server: Server, timeout_s: float, *, at_once: int) -> list[Attempt]:
        def attempt(case: Case) -> Attempt:
            with ServerPeer(case, server, timeout_s=timeout_s * case.patience) as peer:
                return Attempt.of(case, peer)

        return attempts(cases, attempt, at_once=at_once)

    def _broken(self, server: Server) -> TargetError | None:
        """Why the server is of no more use. Its sockets break a moment before its end can be seen."""
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(LAST_MOMENT_S)
        try:
            with server.connect(timeout_s=self.conditions.last_timeout_s) as connection:
                open_websocket(connection, path="/echo", host=server.authority)
            return None
        except (OSError, HandshakeError) as error:
            with suppress(subprocess.TimeoutExpired):
                server.process.wait(self.conditions.timeout_s)
            return server.cause_of_death() or TargetError(
                f"after that the server answers no handshake ({error or type(error).__name__})",
                where=self.target.name,
            )

    def _unreached(self, cases: Sequence[Case], cause: TargetError | None) -> None:
        for case in cases:
            verdict: Verdict = "unsupported" if isinstance(cause, UnsupportedError) else "fail"
            why = str(cause) if cause else f"the server died {STARTS} times before this case"
            self.verdicts[case.id] = CaseVerdict(case.id, verdict, why)
