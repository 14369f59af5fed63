"""The verdicts of the conformance cases stand beside the ranking, and say which cases fail."""

from __future__ import annotations

import json
from pathlib import Path

from report_sample import write_run

from feedbench.paths import RunDirectory
from feedbench.report import write_report


def test_each_ranked_target_has_its_cases_beside_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    write_run(run.path)
    known = {"passed": 361, "failed": 7, "unsupported": 2, "failing": ["handshake.query", "frame.unmasked"]}
    document = {"schema": 1, "targets": {"node/ws": known}}
    run.conformance.write_text(json.dumps(document), encoding="utf-8")
    html = write_report(run).read_text(encoding="utf-8")
    assert "Cases passed" in html
    assert "361 of 368" in html
    assert "handshake.query, frame.unmasked" in html


def test_a_run_without_verdicts_says_nothing_of_them(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    write_run(run.path)
    assert "Cases passed" not in write_report(run).read_text(encoding="utf-8")
