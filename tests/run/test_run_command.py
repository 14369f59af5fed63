"""`feedbench run`, `load` and `ceiling` at the keyboard: one clear line for each mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import FAKE_ENGINE, Laboratory, make_laboratory

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    return make_laboratory(tmp_path)


def feedbench(
    lab: Laboratory, *arguments: str, engine: Path = FAKE_ENGINE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from feedbench.cli import main; main()", *arguments],
        cwd=lab.project.root,
        env={**os.environ, "FEEDBENCH_ENGINE": str(engine)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


MISTAKES = [
    ("a scenario that is not there", ["run", "nowhere.toml"], "nowhere.toml"),
    ("a directory without a plan", ["run", "targets"], "plan.json"),
    ("options of a new run for an old one", ["run", "targets", "--blocks", "3"], "for a new run"),
]


@pytest.mark.parametrize(("what", "arguments", "said"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_one_line(lab: Laboratory, what: str, arguments: list[str], said: str) -> None:
    done = feedbench(lab, *arguments)
    assert done.returncode == 1, what
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["run"], ["load", "ws://x"], ["ceiling"]], ids=lambda words: words[0])
def test_without_an_engine_it_says_how_to_get_one(lab: Laboratory, arguments: list[str]) -> None:
    done = feedbench(lab, *arguments, engine=Path("/nowhere/feedbench-engine"))
    assert done.returncode == 1
    assert done.stderr.strip().endswith("(try: make setup)")
    assert len(done.stderr.strip().splitlines()) == 1


def test_load_hands_every_argument_and_the_exit_status_through(lab: Laboratory, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
    engine.chmod(0o755)
    done = feedbench(lab, "load", "--help", "ws://h/echo", "-c", "3", "--json", engine=engine)
    assert (done.returncode, done.stdout) == (7, "load --help ws://h/echo -c 3 --json\n")
