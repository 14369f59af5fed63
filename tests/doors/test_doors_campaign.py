"""The campaign file, and the whole of it at a hundredth of a second's length."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.doors.campaign import read_doors
from feedbench.doors.record import read_records
from feedbench.errors import FeedbenchError, ScenarioError
from feedbench.paths import Project

PAPER = Project.find().scenarios / "papers" / "grandhi.toml"


def test_the_papers_campaigns_are_as_printed() -> None:
    doors = read_doors(PAPER)
    assert doors.durations == (("30s", 30 * 10**9), ("2m", 120 * 10**9), ("5m", 300 * 10**9))
    assert (doors.rest_throttle_ns, doors.fix_throttle_ns) == (20_000_000, 5_000_000)
    assert (doors.venue, doors.fix_port) == ("coinbase", 9898)
    assert read_doors(PAPER, scale=0.5).seconds(30 * 10**9) == 15


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ('campaigns = ["soon"]', "campaigns"),
        ("campaigns = []", "must not be empty"),
        ('campaigns = ["1s"]\nfix_port = 70000', "not a port"),
        ('campaigns = ["1s"]\nvenu = "x"', "unknown key"),
        ("", '"campaigns" is missing'),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, wrong: str, complaint: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(
        f'schema = 1\nname = "a"\ntitle = "A"\nquestion = "?"\n[doors]\n{wrong}\n', encoding="utf-8"
    )
    with pytest.raises(ScenarioError, match=re.escape(complaint)) as caught:
        read_doors(path)
    assert "wrong.toml:" in str(caught.value)


def test_options_of_other_files_are_refused() -> None:
    runner = CliRunner()
    refused = runner.invoke(app, ["run", str(PAPER), "--blocks", "3"])
    assert "this goes through doors" in str(refused.exception)
    scaled = runner.invoke(app, ["run", str(Project.find().scenarios / "quick.toml"), "--scale", "2"])
    assert "--scale is for a file with a table [doors]" in str(scaled.exception)


def lively_copy(folder: Path) -> Path:
    """The paper's campaigns on any free port, with a market that has something to tell at once."""
    path = folder / "mini.toml"
    text = PAPER.read_text(encoding="utf-8").replace("fix_port = 9898", "fix_port = 0")
    path.write_text(text.replace('"--rate", "25"', '"--rate", "800"'), encoding="utf-8")
    return path


@pytest.mark.end_to_end
def test_from_the_file_to_tables_and_figures(tmp_path: Path) -> None:
    if not Project.find().exchange.exists():
        pytest.skip("the exchange is not built (make setup)")
    path = lively_copy(tmp_path)
    run = tmp_path / "run"
    done = CliRunner().invoke(app, ["run", str(path), "--scale", "0.01", "--out", str(run)])
    assert done.exit_code == 0, (done.output, done.exception)
    assert done.stdout.strip() == str(run / "summary.html")
    for name in ("30s", "2m", "5m"):
        folder = run / "data" / "runs" / name
        records = read_records(folder / "results.csv")
        assert records == read_records(folder / "results.parquet")
        assert {record.protocol for record in records} == {"FIX", "REST", "WebSocket"}
        with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
            counts = {(row["protocol"], row["event_type"]): int(row["count"]) for row in csv.DictReader(file)}
        assert sum(counts.values()) == len(records)
        clock = json.loads((folder / "collectors.json").read_text(encoding="utf-8"))["clock"]
        # The clock is right, or shown to be so far off as is told.
        assert clock["offset_low_ns"] < clock["offset_high_ns"]
    assert len(list((run / "tables").iterdir())) == 5 * 3
    assert len(list((run / "figures").iterdir())) == 5 * 3
    page = (run / "summary.md").read_text(encoding="utf-8")
    assert "Played at 0.01 of its durations" in page
    assert "What differs from a fair comparison" in page
    html = (run / "summary.html").read_text(encoding="utf-8")
    for words in ("What differs from a fair comparison", "Played at 0.01", "Event age at receipt (ms)"):
        assert words in html
    assert html.count("<svg") == 5
    assert "<script" not in html
    again = CliRunner().invoke(app, ["run", str(path), "--out", str(run)])
    assert isinstance(again.exception, FeedbenchError)
    assert "there is a run already" in str(again.exception)


def lives(process: psutil.Process) -> bool:
    """Who has ended may still wait for somebody to take note of it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.end_to_end
def test_what_it_started_does_not_outlive_it(tmp_path: Path) -> None:
    if not Project.find().exchange.exists():
        pytest.skip("the exchange is not built (make setup)")
    program = [sys.executable, "-c", "from feedbench.cli import main; main()"]
    command = [*program, "run", str(lively_copy(tmp_path)), "--out", str(tmp_path / "run")]
    give_up_s = time.monotonic() + 60
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        started: list[psutil.Process] = []
        while len(started) < 3:  # exchange, echo, collectors
            assert process.poll() is None
            assert time.monotonic() < give_up_s
            time.sleep(0.05)
            started = psutil.Process(process.pid).children()
        process.kill()
    try:
        while any(map(lives, started)):
            assert time.monotonic() < give_up_s, started
            time.sleep(0.05)
    finally:
        for one in filter(lives, started):
            one.kill()
