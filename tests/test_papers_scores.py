"""Papík's scoring model on small cases worked out by hand, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.papers.scores import METRICS, FiveNumbers, competition_scores, score

PAPIK = Path(__file__).parents[1] / "papers" / "papik.toml"


def flat(value: float) -> FiveNumbers:
    return FiveNumbers(value, value, value, value, value)


def test_ties_share_the_better_score_and_the_next_one_skips() -> None:
    # Q1 at Binance, as printed in table 8.
    values = {"C++": 120, "Go": 121, "Java": 120, "JavaScript": 120, "PHP": 122, "Python": 122}
    assert competition_scores(values) == {
        "C++": 6, "Java": 6, "JavaScript": 6, "Go": 3, "PHP": 2, "Python": 2,
    }  # fmt: skip


def test_a_mean_over_exchanges_is_rounded_before_the_mean_over_metrics() -> None:
    # a is 3, 2, 2 points = 7/3; b 2, 3, 3 = 8/3; c 1, 1, 1.
    summaries = {
        "one": {"a": flat(1), "b": flat(2), "c": flat(3)},
        "two": {"a": flat(2), "b": flat(1), "c": flat(3)},
        "three": {"a": flat(2), "b": flat(1), "c": flat(3)},
    }
    scores = score(summaries)
    assert scores.metrics["median"] == {"a": Decimal("2.33"), "b": Decimal("2.67"), "c": Decimal("1.00")}
    assert scores.final == scores.metrics["median"]
    assert scores.places == {"b": 1, "a": 2, "c": 3}


def test_halves_are_rounded_up_as_a_spreadsheet_does() -> None:
    # Over eight exchanges a mean of 1.125 or 1.875 lies halfway.
    summaries = {str(number): {"a": flat(1 if number == 0 else 3), "b": flat(2)} for number in range(8)}
    assert score(summaries).metrics["q1"] == {"a": Decimal("1.13"), "b": Decimal("1.88")}


def test_equal_contenders_share_the_first_place() -> None:
    scores = score({"one": {"a": flat(1.5), "b": flat(1.5), "c": flat(9)}})
    assert scores.places == {"a": 1, "b": 1, "c": 3}


@pytest.mark.parametrize(
    ("summaries", "complaint"),
    [
        ({}, "no exchange"),
        ({"one": {}}, "no contender"),
        ({"one": {"a": flat(1), "b": flat(2)}, "two": {"a": flat(1)}}, "b is not at both one and two"),
        ({"one": {"a": flat(nan)}}, "the maximum of a at one is no number"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    summaries: Mapping[str, Mapping[str, FiveNumbers]], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        score(summaries)


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=1), st.integers(0, 5), min_size=1))
def test_scores_run_from_1_to_the_number_of_contenders_and_only_the_order_counts(
    values: dict[str, int],
) -> None:
    scores = competition_scores(values)
    assert max(scores.values()) == len(values)
    assert min(scores.values()) >= 1
    assert competition_scores({name: value * 10 + 3 for name, value in values.items()}) == scores
    assert all((scores[a] > scores[b]) == (values[a] < values[b]) for a in values for b in values)


def test_dense_ranking_would_not_give_the_printed_scores() -> None:
    """So the check of table 11 can tell the two rankings apart."""
    from feedbench.papers import read_paper

    paper = read_paper(PAPIK)
    dense = []
    for name in ("table8", "table9", "table10"):
        row = paper.table(name).by_label()["Q1"]
        steps = sorted(set(row.values()))
        dense.append(len(row) - steps.index(row["Go"]))
    assert round(sum(dense) / 3, 2) != float(paper.table("table11").by_label()["Q1"]["Go"])


def test_the_metrics_are_those_of_the_printed_tables() -> None:
    assert METRICS == ("maximum", "q3", "median", "q1", "minimum")
