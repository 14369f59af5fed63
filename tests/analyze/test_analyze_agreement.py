"""Runs on different occasions are held against each other: only opposite answers contradict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedbench.analyze.agreement import agreement
from feedbench.cli import app
from feedbench.findings import Findings

RUNNER = CliRunner()


def decision(first: str, second: str, outcome: str, ratio: float | None) -> dict[str, Any]:
    return {
        "pair": [first, second],
        "cells": [f"{first}+all", f"{second}+all"],
        "quantile": "p50",
        "decision": outcome,
        "ratio": ratio,
        "interval": None,
        "p": 0.001,
        "p_holm": 0.01,
        "margin": 0.01,
        "blocks": 11,
        "cliffs_delta": None,
    }


def findings(run: str, *decisions: dict[str, Any]) -> dict[str, Any]:
    question = {
        "id": "all",
        "text": "",
        "fixed": {},
        "compare": "target",
        "quantity": "round_trip",
        "quantiles": ["p50"],
        "blocks_used": 11,
        "blocks_dropped": [],
        "ranking": [],
        "ranking_withheld": None,
        "decisions": list(decisions),
        "margin": {},
        "sentinel": None,
        "control": None,
        "gates": [],
    }
    return {
        "schema": 1,
        "scenario": "s",
        "title": "",
        "run": run,
        "analysis": "",
        "questions": [question],
        "cells": [],
        "impossible": [],
        "options_differences": [],
        "not_measured": [],
        "targets": [],
        "advice": [],
        "complete": True,
        "repeat": "",
    }


def runs(*documents: dict[str, Any]) -> list[Findings]:
    return [Findings.from_json(document) for document in documents]


def test_opposite_answers_contradict_whichever_way_round_the_pair_is_named() -> None:
    found = agreement(
        runs(
            findings("one", decision("a", "b", "different", 0.9)),
            findings("two", decision("b", "a", "different", 0.8)),
        )
    )
    (contradiction,) = found.contradictions
    assert contradiction.pair == ("a", "b")
    assert contradiction.answers == ("first", "second")
    assert contradiction.ratios == (0.9, 1.25)
    assert found.questions[0].contradictory == 1


def test_the_same_answer_and_none_are_counted_and_no_contradiction() -> None:
    found = agreement(
        runs(
            findings(
                "one",
                decision("a", "b", "different", 0.9),
                decision("a", "c", "different", 0.9),
                decision("b", "c", "undecided", 0.99),
                decision("a", "d", "different", 0.5),
            ),
            findings(
                "two",
                decision("b", "a", "different", 1.2),
                decision("a", "c", "equivalent", 1.001),
                decision("b", "c", "undecided", 1.2),
            ),
        )
    )
    (counts,) = found.questions
    assert found.contradictions == ()
    assert (counts.pairs, counts.same_way, counts.once, counts.never) == (3, 1, 1, 1)


def written(folder: Path, document: dict[str, Any]) -> str:
    path = folder / f"{document['run']}.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize(("ratio", "status"), [(0.8, 0), (1.25, 1)])
def test_a_contradiction_is_named_and_makes_the_status_one(tmp_path: Path, ratio: float, status: int) -> None:
    one = written(tmp_path, findings("one", decision("a", "b", "different", 0.9)))
    two = written(tmp_path, findings("two", decision("a", "b", "different", ratio)))
    result = RUNNER.invoke(app, ["agree", one, two])
    assert result.exit_code == status
    assert ("all p50: a / b: 0.900, 1.250" in result.stdout) == (status == 1)
    as_json = json.loads(RUNNER.invoke(app, ["agree", "--json", one, two]).stdout)
    assert len(as_json["contradictions"]) == status


def test_runs_without_a_pair_in_common_are_refused(tmp_path: Path) -> None:
    one = written(tmp_path, findings("one", decision("a", "b", "different", 0.9)))
    two = written(tmp_path, findings("two", decision("a", "c", "different", 0.9)))
    result = RUNNER.invoke(app, ["agree", one, two])
    assert "no two of the runs decided about the same pair" in str(result.exception)
    assert "one run agrees with itself" in str(RUNNER.invoke(app, ["agree", one]).exception)
