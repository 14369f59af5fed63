"""One case tried once, and many at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from feedbench.errors import TargetError
from feedbench.launch import UnsupportedError
from feedbench.verify.case import Case
from feedbench.verify.conversation import converse
from feedbench.verify.departure import DepartureError, RefusalError, SilenceError
from feedbench.verify.link import Peer
from feedbench.verify.verdicts import ADVICE, CaseVerdict


@dataclass(frozen=True)
class Attempt:
    """`departed`: it did not go as the case says, nor was it refused; another try may mend that.
    `silent`: by a timeout.
    """

    case: Case
    verdict: CaseVerdict
    departed: bool = False
    silent: bool = False

    def remembering(self, first: Attempt) -> Attempt:
        """This second try; when it passes, with what went wrong at the first, beside other connections."""
        if self.verdict.verdict != "pass" or first.silent:
            return self
        told = f"alone; beside other connections: {first.verdict.detail}"
        return replace(self, verdict=replace(self.verdict, detail=told))

    @classmethod
    def of(cls, case: Case, peer: Peer) -> Attempt:
        return cls.at(case, partial(converse, case, peer))

    @classmethod
    def at(cls, case: Case, trial: Callable[[], None]) -> Attempt:
        """How a trial of the case went."""
        try:
            trial()
        except (RefusalError, UnsupportedError) as refusal:
            return cls(case, CaseVerdict(case.id, "unsupported", str(refusal)))
        except DepartureError as departure:
            silent = isinstance(departure, SilenceError)
            return cls(case, verdict_on(case, departure), departed=True, silent=silent)
        except TargetError as error:
            return cls(case, CaseVerdict(case.id, "fail", str(error)), departed=True)
        return cls(case, CaseVerdict(case.id, "pass", None))


def verdict_on(case: Case, departure: DepartureError) -> CaseVerdict:
    """By the RFC's own word: what it only advises fails as such, what it leaves open is unsupported."""
    if case.level == "may":
        return CaseVerdict(case.id, "unsupported", f"MAY: {departure}")
    if "should" in (case.level, departure.level):
        return CaseVerdict(case.id, "fail", f"{ADVICE}{departure}")
    return CaseVerdict(case.id, "fail", str(departure))


def attempts(cases: Sequence[Case], attempt: Callable[[Case], Attempt], *, at_once: int) -> list[Attempt]:
    """In the order of the cases; each of `at_once` threads takes the next case when it is done with one."""
    if not cases:
        return []
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        return list(pool.map(attempt, cases))
