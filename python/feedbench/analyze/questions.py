"""The answer to one question: decisions about each pair, and a ranking where the run has earned one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

from feedbench.analyze import gates
from feedbench.analyze.adjust import adjusted
from feedbench.analyze.cells import CellValues
from feedbench.analyze.controls import Pair, judge_control, sentinel_ratios
from feedbench.analyze.decide import (
    FEWEST_BLOCKS,
    Values,
    compare_paired,
    compare_unpaired,
    correct,
    log_ratios,
    margin_of,
)
from feedbench.analyze.effects import cliffs_delta
from feedbench.analyze.gates import RoundGates
from feedbench.analyze.intervals import lower_median, median_interval
from feedbench.analyze.rank import first_tier, probability_first, rank_intervals, tiers
from feedbench.analyze.studentized import draws_for
from feedbench.findings import (
    ControlFinding,
    Decision,
    DroppedBlock,
    LatencyEstimate,
    QuestionFinding,
    Ranked,
    SentinelFinding,
)
from feedbench.findings.comparison import Margin, Outcome
from feedbench.findings.question import Quantity
from feedbench.plan import ACCESS, POLLED, Cell, Plan, Question


@dataclass(frozen=True)
class Trust:
    """What sentinel and control allow: a reason to print no ranking, and the outcomes that may stand."""

    withheld: str | None
    outcomes: frozenset[Outcome]


@dataclass(frozen=True)
class Basis:
    """What a question's cells are compared by, at one quantile: values by cell and block.

    `paired`: as measured, block against block, because the plan has all cells in the same blocks. Else they
    are adjusted for the blocks that they were in.
    """

    values: Mapping[str, Values]
    paired: bool


def basis_of(plan: Plan, question: Question, cells: Mapping[str, CellValues], name: str) -> Basis:
    """The plan decides, not what came of it: who lost a block to a failure is still paired by blocks."""
    if complete(plan, question):
        return Basis({cell: cells[cell].quantiles[name] for cell in question.cells}, paired=True)
    # Copies are in every block, so that blocks without a common target are known in the same terms.
    known = dict.fromkeys([*question.cells, *(question.sentinel or ()), *(question.control or ())])
    return Basis(adjusted({cell: cells[cell].quantiles[name] for cell in known}), paired=False)


def complete(plan: Plan, question: Question) -> bool:
    """Whether every block holds either all of the question's cells or none."""
    return len({plan.blocks_with(plan.cell(cell).process) for cell in question.cells}) == 1


def answer(
    plan: Plan,
    question: Question,
    cells: Mapping[str, CellValues],
    sentinels: Mapping[Pair, SentinelFinding],
    rounds: Sequence[RoundGates],
) -> QuestionFinding:
    """`cells`: values of every cell of the plan; `rounds`: the gates of the rounds that measured the
    question's.
    """
    headline = plan.protocol.quantiles[0]
    measured = [cell for cell in question.cells if cells[cell].quantiles[headline]]
    sentinel = sentinels[question.sentinel] if question.sentinel else None
    control = judge_control(plan, question, cells)
    used = {block for cell in question.cells for block in cells[cell].quantiles[headline]}
    trust = judge_trust(len(used), len(measured), sentinel, control)
    bases = {name: basis_of(plan, question, cells, name) for name in plan.protocol.quantiles}
    decisions = tuple(
        _trusted(decision, trust)
        for name in plan.protocol.quantiles
        for decision in _decide(plan, question, cells, bases[name], name)
    )
    return QuestionFinding(
        id=question.id,
        text=question.text,
        fixed=question.fixed,
        compare=question.compare,
        quantiles=plan.protocol.quantiles,
        blocks_used=len(used),
        quantity=_quantity(plan, question),
        blocks_dropped=_dropped(rounds),
        ranking=() if trust.withheld else _ranking(plan, question, bases, measured, decisions),
        withheld=trust.withheld,
        decisions=decisions,
        margins={
            name: _margin(plan, question, cells, basis, name, measured) for name, basis in bases.items()
        },
        sentinel=sentinel,
        control=control,
        gates=gates.summarize(rounds, asdict(plan.gates)),
    )


def _quantity(plan: Plan, question: Question) -> Quantity:
    """What its cells are compared by: one quantity, since the planner keeps the others apart."""
    if not plan.is_of_feeds:
        return "round_trip"
    return "polled_age" if question.fixed.get(ACCESS) == POLLED else "event_age"


def judge_trust(
    blocks: int, measured: int, sentinel: SentinelFinding | None, control: ControlFinding | None
) -> Trust:
    """A false alarm of the sentinel voids everything; a control not found voids what was *not* seen."""
    nothing: frozenset[Outcome] = frozenset()
    only_differences: frozenset[Outcome] = frozenset({"different"})
    if blocks < FEWEST_BLOCKS:
        text = f"{blocks} blocks are left, and no exact test says anything below {FEWEST_BLOCKS}"
        return Trust(text, nothing)
    if measured < 2:
        return Trust("fewer than two of its cells were measured", nothing)
    if sentinel is None:
        return Trust("it has no A/A sentinel to show that equals come out equal", nothing)
    if not sentinel.passed:
        return Trust(f"the A/A sentinel failed: {_told(sentinel)}", nothing)
    if control is None:
        return Trust("it has no control to show that a known delay would be found", only_differences)
    if not control.sensitive:
        return Trust(
            f"the control was not found: a delay of {control.delay_ns:,} ns stayed within the noise",
            only_differences,
        )
    if not control.passed:
        return Trust(f"the control came out with the wrong sign or size: {_sized(control)}", nothing)
    return Trust(None, frozenset({"different", "equivalent"}))


def label(cell: Cell, compare: str) -> str:
    """What stands for a cell in a question: its target, or the value of the compared factor."""
    return cell.target if compare == "target" else f"{compare}={_spoken(cell.factors[compare])}"


def _told(sentinel: SentinelFinding) -> str:
    odd = [
        f"{name} {comparison.ratio:.3f}" if comparison.ratio else f"{name} without a common block"
        for name, comparison in sentinel.decisions.items()
        if comparison.outcome == "different" or comparison.blocks == 0
    ]
    return f"two copies of one program differ ({', '.join(odd)})"


def _sized(control: ControlFinding) -> str:
    least, most = control.expected_ns
    meant = f"{least:,} ns" if most == least else f"at least {least:,} ns"
    low, high = control.interval_ns or (0, 0)
    return f"{meant} added, {control.found_ns:,} ns found ({low:,} to {high:,})"


def _spoken(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decide(
    plan: Plan, question: Question, cells: Mapping[str, CellValues], basis: Basis, name: str
) -> list[Decision]:
    """All pairs at one quantile: one family for Holm."""
    pairs = list(combinations(question.cells, 2))
    confidence = plan.protocol.confidence
    family = []
    for pair in pairs:
        first, second = (basis.values[cell] for cell in pair)
        margin = _margin(plan, question, cells, basis, name, pair)
        if basis.paired:
            ratios = log_ratios(first, second)
            family.append(compare_paired(ratios, margin, confidence=confidence, seed=plan.seed))
        else:
            draws = draws_for(len(pairs), 1 - confidence)
            family.append(
                compare_unpaired(first, second, margin, confidence=confidence, seed=plan.seed, draws=draws)
            )
    return [
        Decision(
            pair=(label(plan.cell(first), question.compare), label(plan.cell(second), question.compare)),
            cells=(first, second),
            quantile=name,
            comparison=comparison,
            cliffs_delta=cliffs_delta(cells[first].sampled_ns, cells[second].sampled_ns),
        )
        for (first, second), comparison in zip(pairs, correct(family, confidence=confidence), strict=True)
    ]


def _margin(
    plan: Plan,
    question: Question,
    cells: Mapping[str, CellValues],
    basis: Basis,
    name: str,
    among: Sequence[str],
) -> Margin:
    """Over the cells `among`: a pair's own margin, or the question's, which is that of its fastest cell."""
    values = [basis.values[cell] for cell in among]
    return margin_of(
        values,
        blocks=None if basis.paired else min(map(len, values), default=None),
        margin_ratio=plan.protocol.margin_ratio,
        margin_ns=plan.protocol.margin_ns,
        sentinel=sentinel_ratios(question.sentinel, name, cells),
        confidence=plan.protocol.confidence,
        seed=plan.seed,
    )


def _trusted(decision: Decision, trust: Trust) -> Decision:
    if decision.outcome in trust.outcomes:
        return decision
    return replace(decision, comparison=replace(decision.comparison, outcome="undecided"))


def _ranking(
    plan: Plan,
    question: Question,
    bases: Mapping[str, Basis],
    measured: Sequence[str],
    decisions: Sequence[Decision],
) -> tuple[Ranked, ...]:
    """By the headline quantile, in the order of its value; what that order is worth, the intervals say."""
    headline = plan.protocol.quantiles[0]
    basis = bases[headline]
    typical = {cell: lower_median(list(basis.values[cell].values())) for cell in measured}
    slower = [
        decision.cells if (decision.comparison.ratio or 1) < 1 else decision.cells[::-1]
        for decision in decisions
        if decision.quantile == headline and decision.outcome == "different"
    ]
    ranks = rank_intervals(measured, slower)
    tier = first_tier(tiers(sorted(measured, key=typical.__getitem__), slower))
    first = probability_first(
        {cell: basis.values[cell] for cell in measured}, paired=basis.paired, seed=plan.seed
    )
    ranked = [
        Ranked(
            label=label(plan.cell(cell), question.compare),
            target=plan.cell(cell).target,
            cell=cell,
            rank=ranks[cell],
            tier=tier[cell],
            probability_first=first[cell],
            estimates={name: _estimate(plan, basis.values[cell]) for name, basis in bases.items()},
        )
        for cell in sorted(measured, key=typical.__getitem__)
    ]
    return tuple(ranked)


def _estimate(plan: Plan, by_block: Values) -> LatencyEstimate:
    values = list(by_block.values())
    if not values:
        return LatencyEstimate(None, None)
    return LatencyEstimate(lower_median(values), median_interval(values, plan.protocol.confidence))


def _dropped(rounds: Sequence[RoundGates]) -> tuple[DroppedBlock, ...]:
    drops = {(drop.block, drop.gate): drop for entry in rounds for drop in entry.dropped}
    return tuple(drops[key] for key in sorted(drops))
