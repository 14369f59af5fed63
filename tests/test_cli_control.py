"""targets, plan, build, verify and new as somebody at the keyboard meets them: status, stdout, stderr."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from feedbench.paths import Project

ROOT = Project.find(Path(__file__).parent).root
UPDATE = "FEEDBENCH_UPDATE_GOLDEN"  # set it to 1 to accept what the commands say now
pytestmark = pytest.mark.end_to_end


@dataclass(frozen=True)
class Said:
    status: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return f"status {self.status}\n--- stdout\n{self.stdout}--- stderr\n{self.stderr}"


def feedbench(*arguments: str, folder: Path = ROOT) -> Said:
    """In a terminal of 100 columns without colours."""
    environment = {
        **os.environ,
        "COLUMNS": "100",
        "TERMINAL_WIDTH": "100",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("feedbench"), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with the fake and one target whose tool nobody has."""
    shutil.copytree(
        ROOT / "targets/_fake/echo",
        tmp_path / "targets/_fake/echo",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copytree(ROOT / "conformance", tmp_path / "conformance")
    (tmp_path / "spec").mkdir()
    rare = tmp_path / "targets/rare/one"
    rare.mkdir(parents=True)
    manifest = (ROOT / "targets/_fake/echo/target.toml").read_text(encoding="utf-8")
    manifest = manifest.replace('"_fake/echo"', '"rare/one"').replace('tool = "python3"', 'tool = "rarelang"')
    (rare / "target.toml").write_text(manifest.replace('minimum = "3.11"\n', ""), encoding="utf-8")
    scenario = (
        'schema = 1\nname = "s"\ntitle = "S"\nquestion = "S?"\nanalysis = "S."\n'
        'targets = ["_fake/echo", "rare/one"]\nreference = "_fake/echo"\n[protocol]\nblocks = 2\n'
    )
    (tmp_path / "s.toml").write_text(scenario, encoding="utf-8")
    (tmp_path / "bad.toml").write_text(scenario.replace("blocks", "block"), encoding="utf-8")
    return tmp_path


SNAPSHOTS = {
    "targets-help": ["targets", "--help"],
    "plan-help": ["plan", "--help"],
    "build-help": ["build", "--help"],
    "verify-help": ["verify", "--help"],
    "new-help": ["new", "target", "--help"],
    "targets": ["targets"],
    "targets-unknown": ["targets", "rar"],
    "plan": ["plan", "s.toml"],
    "plan-unknown-key": ["plan", "bad.toml"],
    "plan-no-file": ["plan", "none.toml"],
    "plan-no-argument": ["plan"],
    "plan-bad-seed": ["plan", "s.toml", "--seed", "x"],
    "build-missing-tool": ["build"],
    "build-unknown": ["build", "rara/one"],
    "verify-not-built": ["verify", "rare"],
    "new-bad-name": ["new", "target", "Rare"],
    "new-taken": ["new", "target", "rare/one"],
    "new-unknown-neighbour": ["new", "target", "rare/two", "--like", "rar/one"],
}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_what_is_said_is_the_golden_word(checkout: Path, name: str) -> None:
    said = str(feedbench(*SNAPSHOTS[name], folder=checkout)).replace(str(checkout), "<checkout>")
    golden = Path(__file__).parent / "golden" / "cli" / f"{name}.txt"
    if os.environ.get(UPDATE):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(said, encoding="utf-8")
    assert said == golden.read_text(encoding="utf-8"), f"set {UPDATE}=1 if the new words are meant"
    assert "Traceback" not in said


def test_targets_tell_programs_what_the_specification_promises(checkout: Path) -> None:
    rows = json.loads(feedbench("targets", "--json", "rare", "_fake", folder=checkout).stdout)
    keys = {"name", "language", "library", "version", "roles", "speaks", "state", "reason"}
    assert [set(row) for row in rows] == [keys, keys]
    assert [(row["name"], row["state"]) for row in rows] == [
        ("_fake/echo", "available"),
        ("rare/one", "missing"),
    ]


def test_a_plan_writes_nothing_unless_it_is_told_to(checkout: Path) -> None:
    before = sorted(checkout.rglob("*"))
    said = feedbench("plan", "s.toml", "--json", "--seed", "9", folder=checkout)
    assert json.loads(said.stdout)["seed"] == 9
    assert sorted(checkout.rglob("*")) == before
    assert feedbench("plan", "s.toml", "--out", "run", folder=checkout).status == 0
    assert json.loads((checkout / "run/plan.json").read_text())["seed"] == 1
    assert (checkout / "run/scenario.toml").read_bytes() == (checkout / "s.toml").read_bytes()


def test_build_then_targets_then_verify_work_on_each_others_output(checkout: Path) -> None:
    receipts = json.loads(feedbench("build", "_fake", "--json", folder=checkout).stdout)
    assert [(receipt["target"], receipt["state"]) for receipt in receipts] == [("_fake/echo", "built")]
    (row,) = json.loads(feedbench("targets", "_fake", "--json", folder=checkout).stdout)
    assert (row["state"], row["version"]) == ("built", "1.0.0")
    good = feedbench("verify", "_fake", "--json", folder=checkout)
    assert good.status == 0, good.stderr
    assert json.loads(good.stdout)[0]["version"] == "1.0.0"
    expected = checkout / "targets/_fake/echo/expected.json"
    expected.write_text(expected.read_text().replace('"echo.text.1": "pass"', '"echo.text.1": "fail"'))
    news = feedbench("verify", "_fake", folder=checkout)
    assert news.status == 1
    assert "_fake/echo: echo.text.1: pass, expected fail" in news.stderr
    assert feedbench("verify", "_fake", "--update", folder=checkout).status == 0
    assert '"echo.text.1": "pass"' in expected.read_text()


def test_a_new_target_is_a_copy_that_is_listed(checkout: Path) -> None:
    said = feedbench("new", "target", "rare/two", "--like", "_fake/echo", folder=checkout)
    assert said.status == 0, said.stderr
    assert said.stdout == "targets/rare/two\n"
    assert "feedbench build rare/two && feedbench verify rare/two" in said.stderr
    (row,) = json.loads(feedbench("targets", "rare/two", "--json", folder=checkout).stdout)
    assert (row["name"], row["library"], row["state"]) == ("rare/two", "two", "available")
    assert not (checkout / "targets/rare/two/expected.json").exists()
