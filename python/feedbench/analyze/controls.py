"""The two checks that a question has to pass before it ranks anything: A/A sentinel and +δ control."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from feedbench.analyze.cells import CellValues
from feedbench.analyze.decide import Comparison, compare_paired, correct, log_ratios, margin_of
from feedbench.analyze.findings import ControlFinding, SentinelFinding
from feedbench.analyze.intervals import t_interval
from feedbench.load import Closed, Load
from feedbench.plan import Plan, Question

Pair = tuple[str, str]

# The spin that delays the control's answers costs two clock readings more, and its interval is one of 95 %.
SIZE_TOLERANCE = 0.10


def judge_sentinels(plan: Plan, cells: Mapping[str, CellValues]) -> dict[Pair, SentinelFinding]:
    """Every A/A pair of the run at every declared quantile, as one family.

    One family, because a campaign with many questions would otherwise stumble over a sentinel by mere chance:
    so at most 5 % of sound runs lose a ranking to it. The margin is the scenario's alone: the sentinel's own
    noise, which widens the margin of the others, must not excuse itself.
    """
    pairs = dict.fromkeys(question.sentinel for question in plan.questions if question.sentinel)
    keys = [(pair, name) for pair in pairs for name in plan.protocol.quantiles]
    family = correct(
        [_compare(plan, cells, pair, name) for pair, name in keys], confidence=plan.protocol.confidence
    )
    found = dict(zip(keys, family, strict=True))
    return {
        pair: _sentinel(pair, {name: found[pair, name] for name in plan.protocol.quantiles}) for pair in pairs
    }


def judge_control(plan: Plan, question: Question, cells: Mapping[str, CellValues]) -> ControlFinding | None:
    """The delayed copy against the plain one at the headline quantile; None when there is no control."""
    if question.control is None:
        return None
    plain, delayed = question.control
    headline = plan.protocol.quantiles[0]
    comparison = _compare(plan, cells, (delayed, plain), headline)
    delay_ns = int(plan.process(plan.cell(delayed).process).knobs["delay_ns"])
    expected_ns = _expected(delay_ns, plan.condition(plan.cell(delayed).condition).load)
    before, after = cells[plain].quantiles[headline], cells[delayed].quantiles[headline]
    added_ns = [after[block] - before[block] for block in sorted(before.keys() & after.keys())]
    interval = t_interval(added_ns, plan.protocol.confidence)
    interval_ns = (math.floor(interval[0]), math.ceil(interval[1])) if interval else None
    tolerance_ns = max(plan.protocol.margin_ns, SIZE_TOLERANCE * delay_ns)
    sensitive = comparison.outcome == "different"
    least, most = expected_ns
    right = (
        interval_ns is not None
        and interval_ns[1] + tolerance_ns >= least
        and (most is None or interval_ns[0] - tolerance_ns <= most)
    )
    slower = comparison.ratio is not None and comparison.ratio > 1
    return ControlFinding(
        passed=sensitive and slower and right,
        sensitive=sensitive,
        pair=question.control,
        delay_ns=delay_ns,
        expected_ns=expected_ns,
        found_ns=round(sum(added_ns) / len(added_ns)) if added_ns else None,
        interval_ns=interval_ns,
        comparison=comparison,
    )


def sentinel_ratios(pair: Pair | None, name: str, cells: Mapping[str, CellValues]) -> list[float]:
    """The sentinel's log ratios at a quantile, for the margin; none without a sentinel."""
    if pair is None:
        return []
    return list(log_ratios(cells[pair[0]].quantiles[name], cells[pair[1]].quantiles[name]).values())


def _sentinel(pair: Pair, decisions: Mapping[str, Comparison]) -> SentinelFinding:
    # Without a single common block nothing was shown, and nothing shown is not passed.
    shown = all(comparison.blocks > 0 for comparison in decisions.values())
    tie = all(comparison.outcome != "different" for comparison in decisions.values())
    return SentinelFinding(passed=shown and tie, pair=pair, decisions=decisions)


def _compare(plan: Plan, cells: Mapping[str, CellValues], pair: Iterable[str], name: str) -> Comparison:
    """Against the scenario's own margin."""
    first, second = (cells[cell].quantiles[name] for cell in pair)
    margin = margin_of(
        [first, second],
        margin_ratio=plan.protocol.margin_ratio,
        margin_ns=plan.protocol.margin_ns,
        confidence=plan.protocol.confidence,
        seed=plan.seed,
    )
    return compare_paired(
        log_ratios(first, second), margin, confidence=plan.protocol.confidence, seed=plan.seed
    )


def _expected(delay_ns: int, load: Load) -> tuple[int, int | None]:
    """What δ more work a message adds to a round trip: δ exactly where one message is under way at a time.

    With more, each may wait for those before it, so W·δ and beyond: a delayed server also answers one by one
    what it used to answer in batches (seen with 32 connections: 350 µs for 5 µs). Then δ is only the least.
    """
    alone = isinstance(load.pacer, Closed) and load.connections * load.pacer.in_flight == 1
    return delay_ns, delay_ns if alone else None
