"""The checks that a study's file asks for by name: comparisons of worked-out numbers.

    equal      left = right, within what rounding and `tolerance` (a share of the right side) allow
    at_most    left ≤ right
    at_least   left ≥ right
    over       "over 52,000" in words: left is above right, by less than one `unit` of its last place

`for_each` repeats a check for several names, put where {} stands. Whole tables: see table_checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.papers.expression import Evaluated, computed_words, evaluate
from feedbench.papers.finding import Finding, Outcome
from feedbench.papers.interval import Interval
from feedbench.papers.study import CheckRequest, Paper
from feedbench.papers.table_checks import TABLE_CHECKS
from feedbench.suggest import nearest

Compared = tuple[Outcome, str]


def check_named(paper: Paper) -> list[Finding]:
    """FeedbenchError when a check is unknown, or names numbers that the file doesn't have."""
    return [finding for asked in paper.checks for finding in _findings(asked, paper)]


def _findings(asked: CheckRequest, paper: Paper) -> list[Finding]:
    try:
        return [_finding(request, paper) for request in _each(asked)]
    except (TypeError, KeyError, AttributeError, ArithmeticError) as error:
        raise FeedbenchError(
            f"the parameters of “{asked.claim}” can't be read: {error!r}", where=paper.path
        ) from error


def _each(request: CheckRequest) -> Iterator[CheckRequest]:
    names = request.parameters.get("for_each")
    if names is None:
        yield request
        return
    rest = {key: value for key, value in request.parameters.items() if key != "for_each"}
    for name in names:
        yield CheckRequest(
            kind=request.kind,
            claim=_filled(request.claim, name) if "{}" in request.claim else f"{name}: {request.claim}",
            meaning=request.meaning,
            expected=request.expected,
            shows=request.shows if isinstance(request.shows, str) else request.shows[name],
            parameters=_filled(rest, name),
        )


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace("{}", name)
    if isinstance(value, Mapping):
        return {key: _filled(inner, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, name) for inner in value]
    return value


def _finding(request: CheckRequest, paper: Paper) -> Finding:
    allowed = _PARAMETERS.get(request.kind)
    if allowed is None:
        raise FeedbenchError(
            f'there is no check "{request.kind}"', where=paper.path, hint=nearest(request.kind, _PARAMETERS)
        )
    required, optional = allowed
    for name in required - request.parameters.keys():
        raise FeedbenchError(f'"{request.claim}" lacks its {name}', where=paper.path)
    for name in request.parameters.keys() - required - optional:
        raise FeedbenchError(
            f'"{request.claim}" has an unknown {name}',
            where=paper.path,
            hint=nearest(name, required | optional),
        )
    if request.kind in TABLE_CHECKS:
        outcome, numbers, where = TABLE_CHECKS[request.kind].run(request.parameters, paper)
    else:
        outcome, numbers, where = _compare(request, paper)
    return Finding(
        check=request.kind,
        claim=request.claim,
        outcome=outcome,
        numbers=numbers,
        where=where,
        meaning=request.meaning,
        expected=request.expected,
        shows=str(request.shows),
    )


def _compare(request: CheckRequest, paper: Paper) -> tuple[Outcome, str, tuple[str, ...]]:
    left, right = (evaluate(request.parameters[side], paper) for side in ("left", "right"))
    where = tuple(dict.fromkeys((*left.where, *right.where)))
    if left.interval is None or right.interval is None:
        missing = "; ".join((*left.missing, *right.missing))
        return Outcome.UNDECIDED, f"not printed: {missing}", where
    outcome, sign = _compared(request, left.interval, right.interval)
    return outcome, f"{_worked_out(left)} {sign} {_worked_out(right)}", where


def _compared(request: CheckRequest, left: Interval, right: Interval) -> Compared:
    match request.kind:
        case "at_most":
            return _at_most(left, right)
        case "at_least":
            return _at_least(left, right)
        case "over":
            return _over(left, right, Decimal(request.parameters["unit"]))
        case _:
            return _equal(left, right, Decimal(request.parameters.get("tolerance", 0)))


def _worked_out(side: Evaluated) -> str:
    """A plain number as it stands; anything else with what it comes to."""
    assert side.interval is not None
    if side.plain:
        return side.words
    return f"{side.words} = {computed_words(side.interval.value)}"


def _equal(left: Interval, right: Interval, tolerance: Decimal) -> Compared:
    if left.overlaps(right.widened(tolerance)):
        return Outcome.HOLDS, "agrees with"
    return Outcome.FAILS, "is not"


def _at_most(left: Interval, right: Interval) -> Compared:
    if left.high <= right.low:
        return Outcome.HOLDS, "is at most"
    if left.low > right.high:
        return Outcome.FAILS, "is more than"
    return Outcome.UNDECIDED, "can't be told from"


def _at_least(left: Interval, right: Interval) -> Compared:
    outcome, _ = _at_most(right, left)
    words = {Outcome.HOLDS: "is at least", Outcome.FAILS: "is less than"}
    return outcome, words.get(outcome, "can't be told from")


def _over(left: Interval, right: Interval, unit: Decimal) -> Compared:
    if right.value <= left.value < right.value + unit:
        return Outcome.HOLDS, "is just over"
    return Outcome.FAILS, "is not just over"


_SIDES = frozenset({"left", "right"})
# Those that a check must have and those that it may have.
_PARAMETERS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "equal": (_SIDES, frozenset({"tolerance"})),
    "at_most": (_SIDES, frozenset()),
    "at_least": (_SIDES, frozenset()),
    "over": (_SIDES | {"unit"}, frozenset()),
    **{name: (check.parameters, frozenset()) for name, check in TABLE_CHECKS.items()},
}
