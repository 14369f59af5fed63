"""The command: what it writes when nothing could be measured, and its words for bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ramp_lines import end_line, round_line
from test_ramp_play import engine
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.errors import FeedbenchError

CAMPAIGN = """\
schema = 1
name = "mini"
title = "Mini"
question = "?"
targets = ["c/floor"]
repeats = 1
[ramp]
rounds = 2
add = 10
requests = 10
"""


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign against a server elsewhere, played by an engine that plays back lines."""
    for variable in ("ADD_CONNECTIONS", "REQUESTS", "ROUNDS", "WEBSOCKET_ADDRESS", "BENCHMARK_FOLDER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("WEBSOCKET_PORT", "8080")
    monkeypatch.setenv("BENCHMARK_LANGUAGE", "Go")
    monkeypatch.setenv("FEEDBENCH_ENGINE", str(tmp_path / "engine"))
    path = tmp_path / "mini.toml"
    path.write_text(CAMPAIGN, encoding="utf-8")
    return path


def test_a_campaign_ends_in_tables_and_figures(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = campaign.parent
    engine(folder, [round_line(1), round_line(2), end_line(2)])
    monkeypatch.setenv("BENCHMARK_FOLDER", str(folder / "benchmarks"))
    done = CliRunner().invoke(app, ["ramp", str(campaign), "--out", str(folder / "run")])
    assert done.exit_code == 0, done.exception
    assert done.stdout.strip() == str(folder / "run" / "summary.html")
    assert (folder / "benchmarks" / "Go" / "1_1.csv").exists()
    assert (folder / "run" / "figures" / "figure-1.svg").exists()
    assert json.loads((folder / "run" / "ramp.json").read_text(encoding="utf-8"))["targets"] == ["Go"]
    # Going on with a whole run plays nothing and writes the same.
    engine(folder, [], talk="nothing is to be played", status=1)
    again = CliRunner().invoke(app, ["ramp", str(folder / "run")])
    assert again.exit_code == 0, again.exception


def test_nothing_measured_is_an_error_with_its_record(campaign: Path) -> None:
    folder = campaign.parent
    engine(folder, [], talk="feedbench-engine: no connection could be opened", status=1)
    done = CliRunner().invoke(app, ["ramp", str(campaign), "--out", str(folder / "run")])
    assert isinstance(done.exception, FeedbenchError)
    assert "no target was measured" in str(done.exception)
    text = (folder / "run" / "summary.md").read_text(encoding="utf-8")
    assert "Go, repeat 1: not measured, no connection could be opened." in text


def test_bad_input_is_one_clear_line(campaign: Path, tmp_path: Path) -> None:
    engine(tmp_path, [])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ramp.json").write_text("{}", encoding="utf-8")
    table = {
        str(tmp_path / "none.toml"): "No such file",
        str(tmp_path / "run"): "no ramp that can be played",
        os.devnull: "is missing",
    }
    for what, complaint in table.items():
        done = CliRunner().invoke(app, ["ramp", what])
        assert isinstance(done.exception, FeedbenchError), (what, done.output)
        assert complaint in str(done.exception), what
    done = CliRunner().invoke(app, ["ramp", str(campaign), "--out", str(tmp_path / "run")])
    assert "there is a run already" in str(done.exception)


def test_run_plays_a_ramp_too(campaign: Path) -> None:
    folder = campaign.parent
    engine(folder, [round_line(1), round_line(2), end_line(2)])
    done = CliRunner().invoke(app, ["run", str(campaign), "--out", str(folder / "run")])
    assert done.exit_code == 0, done.exception
    assert done.stdout.strip() == str(folder / "run" / "summary.html")
    again = CliRunner().invoke(app, ["run", str(folder / "run")])
    assert again.exit_code == 0, again.exception
    refused = CliRunner().invoke(app, ["run", str(campaign), "--blocks", "3"])
    assert "this is a ramp" in str(refused.exception)
