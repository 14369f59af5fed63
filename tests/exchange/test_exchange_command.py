"""`feedbench exchange`: the installed command, and what it says to programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from feedbench.paths import Project

SCHEMA = Path(__file__).parents[2] / "spec" / "exchange.schema.json"
FEEDBENCH = [sys.executable, "-c", "from feedbench.cli import main; main()"]


def exchange(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command until it ends by itself."""
    return subprocess.run(
        [*FEEDBENCH, "exchange", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def test_the_lines_for_programs_are_as_specified(tmp_path: Path) -> None:
    if not Project.find().exchange.exists():
        pytest.skip("the exchange is not built (make setup)")
    run = exchange(
        *("--json", "--duration", "200ms", "--symbols", "2"),
        *("--certificates", str(tmp_path / "ca"), "--ledger", str(tmp_path / "run.ledger")),
    )
    assert run.returncode == 0, run.stderr
    beginning, end = map(json.loads, run.stdout.splitlines())
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    validator.validate(beginning)
    validator.validate(end)
    assert Path(beginning["ca"]).is_relative_to(tmp_path)
    assert Path(end["ledger"]).stat().st_size > 0
    # The schema is not so wide that a damaged line would pass.
    del beginning["urls"]["binance"]["ws"]
    assert not validator.is_valid(beginning)


def test_arguments_pass_through_untouched() -> None:
    run = exchange("--namespace", "--", "ls", "--help", environment={"FEEDBENCH_EXCHANGE": "/bin/echo"})
    assert run.stdout == "--namespace -- ls --help\n"


def test_an_exchange_that_is_not_built_says_what_to_do() -> None:
    run = exchange(environment={"FEEDBENCH_EXCHANGE": "/nowhere/exchange"})
    assert run.returncode == 1
    assert run.stderr == (
        "feedbench: /nowhere/exchange: cannot start: No such file or directory (try: make setup)\n"
    )
