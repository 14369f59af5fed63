"""The verdicts at a glance: in the matrix, and beside a ranking."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import case

from feedbench.errors import RunDirectoryError
from feedbench.verify.conformance import Conformance, read_conformance, write_conformance
from feedbench.verify.matrix import matrix
from feedbench.verify.verdicts import CaseVerdict, Verdicts, write_expected
from planning import make_target

CASES = [
    replace(case(), id=name, role="client" if name.startswith("client.") else "server")
    for name in ("echo.1", "echo.2", "close.1", "client.mask.1")
]
SERVER = Verdicts(
    "a/server",
    "1",
    (
        CaseVerdict("echo.1", "pass", None),
        CaseVerdict("echo.2", "fail", "SHOULD: why"),
        CaseVerdict("close.1", "unsupported", "why"),
    ),
)
BOTH = Verdicts("b/both", None, tuple(CaseVerdict(each.id, "pass", None) for each in CASES))


def test_a_cell_counts_what_was_tried() -> None:
    lines = [line.split() for line in matrix([SERVER, BOTH], CASES).text().splitlines()]
    assert lines == [
        ["target", "echo", "close", "client.mask"],
        ["a/server", "1/2", "–"],
        ["b/both", "2", "1", "1"],
    ]


def test_a_group_that_nobody_was_tried_in_has_no_column() -> None:
    assert "client.mask" not in matrix([SERVER], CASES).text()


def test_programs_get_every_count() -> None:
    document = json.loads(json.dumps(matrix([SERVER], CASES).to_json()))
    assert document["targets"][0]["groups"]["echo"] == {
        "passed": 1,
        "failed": 1,
        "advice": 1,
        "unsupported": 0,
    }
    assert "client.mask" not in document["targets"][0]["groups"]


def test_a_run_keeps_what_is_known_of_its_targets(tmp_path: Path) -> None:
    verified = replace(make_target("a/server"), folder=tmp_path)
    never = replace(make_target("a/never"), folder=tmp_path / "never")
    write_expected(verified, SERVER)
    write_conformance(tmp_path / "conformance.json", [verified, never])
    known = read_conformance(tmp_path / "conformance.json")
    assert known == {"a/server": Conformance(1, 1, 1, ("echo.2",))}
    assert str(known["a/server"]) == "1 of 2"


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert read_conformance(tmp_path / "conformance.json") == {}


@pytest.mark.parametrize("text", ['{"targets": {"a/b": {"passed": 1}}}', '{"targets": []}', "{}"])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "conformance.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunDirectoryError, match="no conformance"):
        read_conformance(tmp_path / "conformance.json")
