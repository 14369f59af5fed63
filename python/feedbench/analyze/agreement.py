"""Whether several runs of one scenario, on different occasions, say the same about each pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from feedbench.findings import Findings
from feedbench.typed_json import to_json

Answer = Literal["first", "second", "equivalent", "undecided"]
"""Who of a pair answers sooner, where a run called it different."""


@dataclass(frozen=True)
class Contradiction:
    """A pair that was called different one way in one run and the other way in another.

    `answers` and `ratios` are in the order of the runs, None where a run did not ask; a ratio is first over
    second.
    """

    question: str
    quantile: str
    pair: tuple[str, str]
    answers: tuple[Answer | None, ...]
    ratios: tuple[float | None, ...]


@dataclass(frozen=True)
class QuestionAgreement:
    """How many pairs, of those that at least two runs asked about, fared how.

    `same_way`: called different in two runs or more, always the same way. `once`: called different in one run
    alone. `never`: in none. `contradictory`: one way and the other.
    """

    question: str
    quantile: str
    pairs: int
    same_way: int
    once: int
    never: int
    contradictory: int


@dataclass(frozen=True)
class Agreement:
    runs: tuple[str, ...]
    questions: tuple[QuestionAgreement, ...]
    contradictions: tuple[Contradiction, ...] = field(default=())

    def to_json(self) -> dict[str, object]:
        return {"schema": 1, **to_json(self)}


Answers = dict[int, tuple[Answer, float | None]]
"""By the number of the run."""


def agreement(runs: Sequence[Findings]) -> Agreement:
    """Holds each decision of each run against the same decision of the others."""
    answers: defaultdict[tuple[str, str], defaultdict[tuple[str, str], Answers]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for number, run in enumerate(runs):
        for question in run.questions:
            for decision in question.decisions:
                first, second = sorted(decision.pair)
                swapped = (first, second) != tuple(decision.pair)
                ratio = decision.comparison.ratio
                if ratio is not None and swapped:
                    ratio = 1 / ratio
                answer = _answer(decision.outcome, ratio)
                answers[question.id, decision.quantile][first, second][number] = (answer, ratio)
    asked = {
        key: {pair: of_runs for pair, of_runs in pairs.items() if len(of_runs) > 1}
        for key, pairs in answers.items()
    }
    return Agreement(
        runs=tuple(run.run for run in runs),
        questions=tuple(_counts(key, list(pairs.values())) for key, pairs in asked.items() if pairs),
        contradictions=tuple(
            Contradiction(
                question=question,
                quantile=quantile,
                pair=pair,
                answers=tuple(of_runs[n][0] if n in of_runs else None for n in range(len(runs))),
                ratios=tuple(of_runs[n][1] if n in of_runs else None for n in range(len(runs))),
            )
            for (question, quantile), pairs in asked.items()
            for pair, of_runs in pairs.items()
            if _ways(of_runs) == {"first", "second"}
        ),
    )


def _answer(outcome: str, ratio: float | None) -> Answer:
    if outcome == "different" and ratio is not None:
        return "first" if ratio < 1 else "second"
    return "equivalent" if outcome == "equivalent" else "undecided"


def _ways(of_runs: Answers) -> set[Answer]:
    return {answer for answer, _ in of_runs.values() if answer in ("first", "second")}


def _counts(key: tuple[str, str], pairs: Sequence[Answers]) -> QuestionAgreement:
    contradictory = sum(len(_ways(of_runs)) == 2 for of_runs in pairs)
    never = sum(not _ways(of_runs) for of_runs in pairs)
    different = [
        sum(answer in ("first", "second") for answer, _ in of_runs.values())
        for of_runs in pairs
        if len(_ways(of_runs)) == 1
    ]
    return QuestionAgreement(
        question=key[0],
        quantile=key[1],
        pairs=len(pairs),
        same_way=sum(count > 1 for count in different),
        once=sum(count == 1 for count in different),
        never=never,
        contradictory=contradictory,
    )
