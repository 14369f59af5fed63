"""`feedbench report` at the command line: what it prints, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from report_sample import findings, write_run
from typer.testing import CliRunner

from feedbench.cli import report as command
from feedbench.errors import RunDirectoryError

app = typer.Typer()
command.register(app)
runner = CliRunner()


def _small_run(folder: Path) -> Path:
    """One question, and cells without anything to draw: four figures, so that the command is quick."""
    whole = findings()
    return write_run(folder, whole | {"questions": whole["questions"][:1], "cells": []})


def test_it_prints_the_path_of_the_page(tmp_path: Path) -> None:
    run = _small_run(tmp_path / "run")
    result = runner.invoke(app, [str(run)])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(run / "report.html")


def test_json_names_every_file_written(tmp_path: Path) -> None:
    run = _small_run(tmp_path / "run")
    document = json.loads(runner.invoke(app, [str(run), "--json"]).stdout)
    assert document["report"] == str(run / "report.html")
    assert all(Path(path).is_file() for path in document["figures"])
    names = [Path(path).name for path in document["figures"] if path.endswith(".svg")]
    assert names == [
        "connections-1-decisions-p50.svg",
        "connections-1-decisions-p99.svg",
        "connections-1-ranking-p50.svg",
        "connections-1-ranking-p99.svg",
        "ranking.svg",
    ]


def test_picture_draws_only_the_picture(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    result = runner.invoke(app, [str(run), "--picture", str(tmp_path / "readme.svg")])
    assert result.exit_code == 0
    assert (tmp_path / "readme.svg").read_text().startswith("<svg")
    assert not (run / "report.html").exists()


def _error(*arguments: str) -> str:
    result = runner.invoke(app, list(arguments))
    assert isinstance(result.exception, RunDirectoryError)
    return str(result.exception)


def test_a_missing_run_is_one_clear_line(tmp_path: Path) -> None:
    assert "there is no such run directory" in _error(str(tmp_path / "nowhere"))


def test_a_picture_without_a_ranking_says_why(tmp_path: Path) -> None:
    document = findings()
    for question in document["questions"]:
        question.update(ranking=[], ranking_withheld="the sentinel failed")
    run = write_run(tmp_path / "run", document)
    assert "the sentinel failed" in _error(str(run), "--picture", str(tmp_path / "readme.svg"))


def test_a_full_disk_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run")
    (run / "report.html").write_text("the old page")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in _error(str(run))
    assert (run / "report.html").read_text() == "the old page"
