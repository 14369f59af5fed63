"""Orders that turn round: two targets of which one is shown to be faster here and the other one there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from feedbench.findings import Decision, Findings, QuestionFinding
from feedbench.plan import FactorValue
from feedbench.report.numbers import ratio_words
from feedbench.report.sentences import condition_words, quantile_name
from feedbench.report.tables import Table


@dataclass(frozen=True)
class Reversal:
    """One pair at one quantile, `different` both times and with opposite signs.

    `factor` is the only one in which the two questions differ; its values are in the order of the decisions.
    """

    factor: str
    values: tuple[FactorValue, FactorValue]
    held: Mapping[str, FactorValue]
    decisions: tuple[Decision, Decision]


def comparable(findings: Findings) -> Iterator[tuple[QuestionFinding, QuestionFinding, str]]:
    """Questions that rank targets under conditions which differ in one factor alone, and that factor."""
    ranked = [question for question in findings.questions if question.compare == "target"]
    for first, second in combinations(ranked, 2):
        names = first.fixed.keys() | second.fixed.keys()
        differing = [name for name in names if first.fixed.get(name) != second.fixed.get(name)]
        if len(differing) == 1 and first.fixed.keys() == second.fixed.keys():
            yield first, second, differing[0]


def reversals(findings: Findings) -> list[Reversal]:
    """Every pair whose order is shown to turn round when one factor changes, and nothing else does."""
    found = []
    for first, second, factor in comparable(findings):
        held = {name: value for name, value in first.fixed.items() if name != factor}
        there = {(decision.pair, decision.quantile): decision for decision in second.decisions}
        for decision in first.decisions:
            other = there.get((decision.pair, decision.quantile))
            if other is not None and _opposite(decision, other):
                values = (first.fixed[factor], second.fixed[factor])
                found.append(Reversal(factor, values, held, (decision, other)))
    return found


def _opposite(first: Decision, second: Decision) -> bool:
    ratios = [decision.comparison.ratio for decision in (first, second) if decision.outcome == "different"]
    present = [ratio for ratio in ratios if ratio is not None]
    return len(present) == 2 and (present[0] < 1) != (present[1] < 1)


def reversal_words(findings: Findings) -> str:
    """A sentence; nothing where no two conditions can be held against each other."""
    factors = list(dict.fromkeys(factor.replace("_", " ") for _, _, factor in comparable(findings)))
    if not factors:
        return ""
    turned = reversals(findings)
    varied = " or ".join(factors)
    if not turned:
        return f"No two targets are shown to change places when {varied} changes."
    pairs = {reversal.decisions[0].pair for reversal in turned}
    whose = f"{' and '.join(next(iter(pairs)))} change" if len(pairs) == 1 else f"{len(pairs)} pairs change"
    return f"{whose} places when {varied} changes: see the table “Turned round”."


def reversal_table(findings: Findings) -> Table | None:
    """Each reversal with both ratios; None without one."""
    rows = tuple(
        (
            " / ".join(reversal.decisions[0].pair),
            quantile_name(reversal.decisions[0].quantile),
            *(
                f"{condition_words({reversal.factor: value})}: "
                + ratio_words(decision.comparison.ratio, decision.comparison.interval)
                for value, decision in zip(reversal.values, reversal.decisions, strict=True)
            ),
            condition_words(reversal.held) or "nothing else varied",
        )
        for reversal in reversals(findings)
    )
    columns = ("Pair", "Quantile", "Ratio here [95 % interval]", "Ratio there", "Held")
    return (
        Table("Turned round: different both times, and in opposite directions", columns, rows)
        if rows
        else None
    )
