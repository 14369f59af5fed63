"""findings.json at the report's door: whole, or refused with the place of the fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_sample import findings

from feedbench.errors import RunDirectoryError
from feedbench.report.reading import read_findings


def test_the_sample_is_read_as_it_stands(tmp_path: Path) -> None:
    document = findings()
    path = tmp_path / "findings.json"
    path.write_text(json.dumps(document))
    read = read_findings(path)
    assert [question.id for question in read.questions] == ["connections=1", "connections=32"]
    assert read.questions[0].ranking[0].estimates["p50"].value_ns == 27_400
    assert len(read.cells) == len(document["cells"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.pop("cells"), "`cells` is missing"),
        (
            lambda document: document["questions"][1].pop("blocks_used"),
            "`questions[1].blocks_used` is missing",
        ),
        (
            lambda document: document["cells"][0].update(latency_ns=[]),
            "`cells[0].latency_ns` is [], not an object",
        ),
        (
            lambda document: document["questions"][0]["ranking"][2].update(rank=[1]),
            "`questions[0].ranking[2].rank` is [1], not a list of 2",
        ),
        (
            lambda document: document["questions"][0]["decisions"][0].update(decision="better"),
            "`questions[0].decisions[0].decision` is 'better', not different or equivalent or undecided",
        ),
        (lambda document: document.update(schema=2), "schema 2"),
    ],
)
def test_a_wrong_document_is_refused_with_its_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    document = findings()
    change(document)
    path = tmp_path / "findings.json"
    path.write_text(json.dumps(document))
    with pytest.raises(RunDirectoryError) as caught:
        read_findings(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_findings_cut_short_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    path.write_text(json.dumps(findings())[:-100])
    with pytest.raises(RunDirectoryError, match="cut short"):
        read_findings(path)


def test_a_run_without_findings_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="feedbench analyze"):
        read_findings(tmp_path / "findings.json")
