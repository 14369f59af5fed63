"""The words of the report: each row changes the sample's findings and says which sentence must follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from report_sample import findings

from feedbench.report import sentences
from feedbench.report.reading import Findings, Question, typed

Change = Callable[[dict[str, Any]], Any]


def _findings(change: Change) -> Findings:
    document = findings()
    change(document["questions"][0])
    return typed(Findings, document, "")


def _question(change: Change) -> Question:
    return _findings(change).questions[0]


def _tiers(*tiers: int) -> Change:
    def change(question: dict[str, Any]) -> None:
        question["ranking"] = question["ranking"][: len(tiers)]
        for entry, tier in zip(question["ranking"], tiers, strict=True):
            entry["tier"] = tier
        names = {entry["target"] for entry in question["ranking"]}
        question["decisions"] = [each for each in question["decisions"] if names.issuperset(each["pair"])]

    return change


def _no_values(question: dict[str, Any]) -> None:
    for entry in question["ranking"]:
        entry["estimates"]["p50"] = {"value_ns": None, "interval_ns": None}


@pytest.mark.parametrize(
    ("change", "sentence", "why"),
    [
        (
            _tiers(1, 2, 2),
            "c/floor is first: its median round trip is 27.4 [27.1, 27.7] µs, 6.0 % less than that of "
            "rust/fastwebsockets, the next. go/gorilla, the last, takes 1.09 times as long as c/floor. "
            "Left undecided: 1 of 3 pairs at p50 and 3 of 3 pairs at p99.",
            "a single leader, and how far ahead",
        ),
        (
            _tiers(1, 1, 2),
            "c/floor and rust/fastwebsockets share the first tier: their median round trips, "
            "27.4 [27.1, 27.7] µs to 29.1 [28.8, 29.5] µs, could not be shown to differ. "
            "go/gorilla, the last, takes 1.09 times as long as c/floor. "
            "Left undecided: 1 of 3 pairs at p50 and 3 of 3 pairs at p99.",
            "a shared first tier names no winner",
        ),
        (
            _tiers(1, 1, 1),
            "All 3 share one tier: their median round trips could not be shown to differ. "
            "Left undecided: 1 of 3 pairs at p50 and 3 of 3 pairs at p99.",
            "one tier is no ranking",
        ),
        (
            _tiers(1),
            "There is nothing to compare: only c/floor gave a result, 27.4 [27.1, 27.7] µs.",
            "a single survivor has won nothing",
        ),
        (_tiers(), "Nothing could be ranked: no cell of this question gave a result.", "all failed"),
        (
            _no_values,
            "Nothing could be ranked: too few messages stand behind p50.",
            "quantiles were withheld",
        ),
        (
            lambda question: question.update(ranking_withheld="the sentinel failed"),
            "No ranking is printed: the sentinel failed.",
            "a withheld ranking is not told in other words",
        ),
    ],
)
def test_answer(change: Change, sentence: str, why: str) -> None:
    assert sentences.answer(_question(change)) == sentence, why


def test_the_answer_never_names_a_winner_when_the_ranking_is_withheld() -> None:
    question = _question(lambda each: each.update(ranking_withheld="the control was not found"))
    assert not any(entry.name in sentences.answer(question) for entry in question.ranking)


def _all_decided(question: dict[str, Any]) -> None:
    for decision in question["decisions"]:
        decision["decision"] = "different"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda question: None, "Left undecided: 1 of 28 pairs at p50 and 6 of 28 pairs at p99."),
        (_all_decided, "No pair is left undecided."),
        (lambda question: question.update(decisions=[]), ""),
    ],
)
def test_undecided(change: Change, sentence: str) -> None:
    assert sentences.undecided(_question(change)) == sentence


def _failed(name: str) -> Change:
    return lambda question: question[name].update(passed=False)


def _due(least_ns: int, most_ns: int | None) -> Change:
    return lambda question: question["control"].update(expected_ns=[least_ns, most_ns])


def _gates_pass(question: dict[str, Any]) -> None:
    question["blocks_dropped"] = []
    for gate in question["gates"]:
        gate.update(passed=True, blocks_failed=0)


@pytest.mark.parametrize(
    ("change", "place", "label", "mood", "part"),
    [
        (lambda _: None, 0, "a tie", "good", "Two copies of node/ws could not be told apart"),
        (_failed("sentinel"), 0, "failed", "bad", "came out different"),
        (lambda question: question.update(sentinel=None), 0, "none", "bad", "No second copy ran"),
        (lambda _: None, 1, "found", "good", "delayed by 5 µs was found 5.10 [4.90, 5.30] µs slower"),
        (_due(5_000, 160_000), 1, "found", "good", "slower, where 5.00 µs to 160 µs were due."),
        (_due(5_000, None), 1, "found", "good", "slower, where at least 5.00 µs were due."),
        (_due(5_000, 5_000), 1, "found", "good", "5.30] µs slower."),
        (_failed("control"), 1, "not found", "bad", "does not count as finding it"),
        (lambda question: question.update(control=None), 1, "none", "bad", "No delayed copy ran"),
        (lambda _: None, 2, "1 failed", "caution", "“CPU not stolen” failed in 1 block;"),
        (_gates_pass, 2, "passed", "good", "All 4 gates"),
        (lambda question: question.update(gates=[]), 2, "none", "silent", "No gate"),
        (lambda _: None, 3, "10 used", "caution", "1 dropped by a gate"),
        (_gates_pass, 3, "10 used", "good", "none was dropped"),
        (lambda question: question.update(blocks_used=1), 3, "1 used", "bad", "1 block of fresh processes"),
    ],
)
def test_badges(change: Change, place: int, label: str, mood: str, part: str) -> None:
    found = _findings(change)
    badge = sentences.badges(found.questions[0], found.cells, complete=True)[place]
    assert (badge.state, badge.mood) == (label, mood)
    assert part in badge.words


def test_an_interrupted_run_says_so() -> None:
    found = _findings(lambda _: None)
    assert sentences.badges(found.questions[0], found.cells, complete=False)[-1].state == "interrupted"


@pytest.mark.parametrize(
    ("decision", "ratio", "interval", "sentence"),
    [
        ("different", 1.31, [1.28, 1.34],
         "With log messages true the p50 is 1.310 [1.280, 1.340] times that with false."),
        ("equivalent", 1.001, [0.997, 1.005],
         "log messages true and false at p50: equivalent, ratio 1.001 [0.997, 1.005]."),
        ("undecided", None, None, "log messages true and false at p50: undecided, ratio –."),
    ],
)  # fmt: skip
def test_comparison_of_a_factor(
    decision: str, ratio: float | None, interval: list[float] | None, sentence: str
) -> None:
    pair = ["log_messages=true", "log_messages=false"]
    entry = {"pair": pair, "quantile": "p50", "decision": decision, "ratio": ratio, "interval": interval}
    question = _question(lambda each: each.update(compare="log_messages", decisions=[entry]))
    assert sentences.comparison(question) == sentence


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ({}, ""),
        ({"connections": 32, "cpus_awake": False}, "connections 32, cpus awake off"),
        ({"knob": None}, "knob default"),
    ],
)
def test_condition_words(factors: dict[str, Any], words: str) -> None:
    assert sentences.condition_words(factors) == words
