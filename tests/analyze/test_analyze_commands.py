"""`feedbench analyze` and `feedbench compare` at the keyboard: data on stdout, one line for an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from synthetic_run import QUICK, Synthetic, write_run


def feedbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from feedbench.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = Synthetic(models=QUICK[:3], connections=(1,), measure_ns=25_000_000)
    return write_run(tmp_path_factory.mktemp("commands") / "run", small).path


def test_analyze_prints_the_ranking(run: Path) -> None:
    outcome = feedbench("analyze", str(run))
    assert outcome.returncode == 0, outcome.stderr
    assert "rust/fastwebsockets" in outcome.stdout
    assert "tier" in outcome.stdout


def test_analyze_json_is_findings_json(run: Path) -> None:
    outcome = feedbench("analyze", str(run), "--json")
    assert json.loads(outcome.stdout) == json.loads((run / "findings.json").read_text(encoding="utf-8"))


def test_compare_prints_a_table_and_json(run: Path) -> None:
    table = feedbench("compare", str(run), str(run))
    assert table.returncode == 0, table.stderr
    assert "after/before" in table.stdout
    document = json.loads(feedbench("compare", str(run), str(run), "--json").stdout)
    assert {change["ratio"] for change in document["changes"]} == {1.0}


@pytest.mark.parametrize("command", [("analyze",), ("compare",)])
def test_a_folder_that_is_no_run_is_one_clear_line(command: tuple[str], tmp_path: Path) -> None:
    arguments = [str(tmp_path)] * (2 if command == ("compare",) else 1)
    outcome = feedbench(*command, *arguments)
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"feedbench: {tmp_path}/plan.json: the file is missing")
