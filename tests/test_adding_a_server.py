"""Adding a server takes one folder: scaffolded, built, verified and ranked, by the commands for it.

The scenario is made for any machine, however busy: gates are wide open, and only what is hundreds of times
slower counts as different. So it says nothing about the servers, and everything about the way there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from feedbench.paths import Project, RunDirectory

PROJECT = Project.find(Path(__file__).parent)
SCENARIO = """\
schema = 1
name = "two"
title = "Two servers"
question = "Which of two is first?"
analysis = "None."
targets = ["c/*"]
reference = "c/floor"
[control]
target = "c/floor"
delay = "5ms"
[protocol]
blocks = 9
slice = "100ms"
warmup = "50ms"
measure = "500ms"
quantiles = ["p50"]
margin_ratio = 0.9
[gates]
lateness_p999_share = 1e9
steal_share = 1
run_delay_share = 1
engine_stalls = 1e9
"""
pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(not PROJECT.engine.exists(), reason="the engine is not built: make setup"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on PATH"),
]


def feedbench(*arguments: str, folder: Path) -> str:
    """What the command says on stdout; it must end with status 0."""
    done = subprocess.run(
        [Path(sys.executable).with_name("feedbench"), *arguments],
        cwd=folder,
        env={**os.environ, "FEEDBENCH_ENGINE": str(PROJECT.engine)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_server_is_scaffolded_built_verified_and_ranked(tmp_path: Path) -> None:
    for name in ("targets/c/floor", "targets/c/_support", "conformance"):
        shutil.copytree(PROJECT.root / name, tmp_path / name)
    (tmp_path / "spec").mkdir()
    (tmp_path / "two.toml").write_text(SCENARIO, encoding="utf-8")
    before = set(tmp_path.rglob("*"))

    assert feedbench("new", "target", "c/mine", folder=tmp_path) == "targets/c/mine\n"
    added = {path.relative_to(tmp_path) for path in set(tmp_path.rglob("*")) - before}
    assert all(path.is_relative_to("targets/c/mine") for path in added), "one folder, and nothing elsewhere"

    feedbench("build", "c/mine", folder=tmp_path)
    feedbench("verify", "c/mine", "--update", folder=tmp_path)
    expected = json.loads((tmp_path / "targets/c/mine/expected.json").read_text(encoding="utf-8"))
    assert "pass" in json.dumps(expected)
    feedbench("verify", "c/mine", folder=tmp_path)
    (state,) = json.loads(feedbench("targets", "c/mine", "--json", folder=tmp_path))
    assert (state["name"], state["state"]) == ("c/mine", "built")

    feedbench("run", "two.toml", "--out", "run", folder=tmp_path)
    run = RunDirectory(tmp_path / "run")
    (question,) = json.loads(run.findings.read_text(encoding="utf-8"))["questions"]
    assert question["ranking_withheld"] is None
    assert {ranked["target"] for ranked in question["ranking"]} == {"c/floor", "c/mine"}
    assert question["control"]["passed"]
    assert run.report.exists()
    assert "c/mine" in (run.tables / "targets.csv").read_text(encoding="utf-8")
