"""Orders that turn round between conditions are told; those that are not shown both times are not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_sample import findings as sample

from feedbench.findings import Findings, QuestionFinding
from feedbench.plan import FactorValue
from feedbench.report.reversals import reversal_table, reversal_words, reversals


def conditions(
    ratios: tuple[float, float],
    *,
    outcomes: tuple[str, str] = ("different", "different"),
    fixed: tuple[dict[str, FactorValue], dict[str, FactorValue]] = (
        {"cpus_awake": True},
        {"cpus_awake": False},
    ),
) -> Findings:
    """Two questions about one pair of targets, a and b."""
    whole = Findings.from_json(sample())
    model = whole.questions[0]

    def question(place: int) -> QuestionFinding:
        decision = model.decisions[0]
        comparison = replace(
            decision.comparison,
            outcome=outcomes[place],  # type: ignore[arg-type]
            ratio=ratios[place],
            interval=(ratios[place] * 0.99, ratios[place] * 1.01),
        )
        decided = replace(decision, pair=("a", "b"), quantile="p50", comparison=comparison)
        return replace(model, id=str(place), fixed=fixed[place], decisions=(decided,))

    return replace(whole, questions=(question(0), question(1)))


def test_a_pair_that_turns_round_is_told_with_both_ratios() -> None:
    turned = conditions((0.694, 1.163))
    assert reversal_words(turned) == (
        "a and b change places when cpus awake changes: see the table “Turned round”."
    )
    table = reversal_table(turned)
    assert table is not None
    assert table.rows == (
        (
            "a / b",
            "Median (p50)",
            "cpus awake on: 0.694 [0.687, 0.701]",
            "cpus awake off: 1.163 [1.151, 1.175]",
            "nothing else varied",
        ),
    )


@pytest.mark.parametrize(
    "steady",
    [
        conditions((0.694, 0.8)),
        conditions((0.694, 1.163), outcomes=("different", "undecided")),
        conditions((0.694, 1.163), outcomes=("equivalent", "different")),
    ],
    ids=["the same side both times", "undecided there", "equivalent here"],
)
def test_what_is_not_shown_both_times_is_no_reversal(steady: Findings) -> None:
    assert reversals(steady) == []
    assert reversal_table(steady) is None
    assert reversal_words(steady) == "No two targets are shown to change places when cpus awake changes."


def test_conditions_that_differ_in_two_factors_are_not_held_against_each_other() -> None:
    both = conditions(
        (0.694, 1.163), fixed=({"connections": 1, "rate": 100}, {"connections": 32, "rate": 1000})
    )
    assert reversals(both) == []
    assert reversal_words(both) == ""
