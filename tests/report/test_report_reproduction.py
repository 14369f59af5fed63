"""A run's numbers beside a study's printed ones: each in its own column, and none where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_sample import findings as sample
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.errors import FeedbenchError
from feedbench.papers import read_paper
from feedbench.papers.page import make_page, page_document
from feedbench.papers.page_markdown import page_markdown
from feedbench.papers.page_text import page_text
from feedbench.papers.quantity import Quantity, Reproduction
from feedbench.papers.reproduction import reproduce
from feedbench.paths import Project

PROJECT = Project.find(Path(__file__).parent)
PAPERS = PROJECT.root / "papers"
TARGETS = ("python/websockets", "python/tornado")


@pytest.fixture
def salih(tmp_path: Path) -> Path:
    """A run of one and 32 clients, under two sets of conditions; the engine's cells are twice as fast."""
    document = sample()
    kept = [cell for cell in document["cells"] if cell["target"] in TARGETS and cell["copy"] is None]
    cells = []
    for client, factor in (("own", 2.0), ("engine", 1.0)):
        for cell in kept:
            latency = {
                name: value * factor if value and name != "count" else value
                for name, value in cell["latency_ns"].items()
            }
            factors = {"client": client, **cell["factors"]}
            cells.append(
                {**cell, "cell": f"{client} {cell['cell']}", "factors": factors, "latency_ns": latency}
            )
    document |= {"scenario": "salih-short", "cells": cells}
    run = tmp_path / "run"
    run.mkdir()
    (run / "findings.json").write_text(json.dumps(document), encoding="utf-8")
    return run


def quantity(reproduction: Reproduction, table: str, column: str) -> Quantity:
    (found,) = [each for each in reproduction.quantities if (each.table, each.column) == (table, column)]
    return found


def test_every_printed_cell_has_what_was_measured_under_each_condition(salih: Path) -> None:
    paper = read_paper(PAPERS / "salih.toml")
    reproduction = reproduce(paper, salih)
    assert reproduction.conditions == ("client own", "client engine")
    assert len(reproduction.quantities) == 2 * 6
    average = quantity(reproduction, "tornado", "average_ms")
    assert average.target == "python/tornado"
    assert [str(line.printed) for line in average.lines] == [
        str(row["average_ms"]) for row in paper.table("tornado").rows
    ]
    one, two = average.lines[:2]
    assert one.row == "1 client"
    assert one.measured == pytest.approx((2 * 49_300 * 1.08 / 1e6, 49_300 * 1.08 / 1e6))
    assert (two.row, two.measured) == ("2 clients", (None, None))
    assert average.grid(reproduction.conditions)[:3] == [
        ["", "printed", "measured: client own", "measured: client engine"],
        ["1 client", "0.34", "0.106", "0.053"],
        ["2 clients", "0.41", "–", "–"],
    ]


def test_the_page_shows_both_as_text_as_markdown_and_for_programs(salih: Path) -> None:
    paper = read_paper(PAPERS / "salih.toml")
    page = make_page(paper, reproduce(paper, salih))
    for text in (page_text(page), page_markdown(page)):
        assert "compare shapes and ratios, not milliseconds" in text
        assert "measured: client own" in text
    cells = page_document(page)["reproduction"]["cells"]
    assert len(cells) == 2 * 6 * 8
    assert cells[0]["printed"] == "32553"
    assert page_document(make_page(paper))["reproduction"] is None


def test_a_run_of_something_else_is_refused(salih: Path, tmp_path: Path) -> None:
    with pytest.raises(FeedbenchError, match='not of the study "tomasetti"'):
        reproduce(read_paper(PAPERS / "tomasetti.toml"), salih)
    with pytest.raises(FeedbenchError, match="is missing"):
        reproduce(read_paper(PAPERS / "salih.toml"), tmp_path / "nothing")


def test_the_command_line_takes_a_run_for_one_study(salih: Path) -> None:
    asked = CliRunner().invoke(app, ["paper", "salih", "--run", str(salih)])
    assert asked.exit_code == 0, asked.output
    assert "websockets: Average latency (ms)" in asked.stdout
    for arguments in (["--run", str(salih)], ["salih", "--check", "--run", str(salih)]):
        assert CliRunner().invoke(app, ["paper", *arguments]).exit_code == 2
    two = CliRunner().invoke(app, ["paper", "salih", "--run", str(salih), "--run", str(salih)])
    assert two.exit_code == 2


def test_all_studies_take_the_runs_that_are_theirs(salih: Path, ozmen: Path) -> None:
    asked = CliRunner().invoke(app, ["paper", "all", "--json", "--run", str(ozmen), "--run", str(salih)])
    assert asked.exit_code == 0, asked.output
    pages = {page["name"]: page for page in json.loads(asked.stdout)}
    assert {name for name, page in pages.items() if page["reproduction"]} == {"salih", "ozmen"}
    twice = CliRunner().invoke(app, ["paper", "all", "--run", str(salih), "--run", str(salih)])
    assert "is a run of salih, too" in str(twice.exception)


def test_a_run_of_no_study_is_named(salih: Path) -> None:
    findings = json.loads((salih / "findings.json").read_text(encoding="utf-8"))
    (salih / "findings.json").write_text(json.dumps({**findings, "scenario": "quick"}), encoding="utf-8")
    asked = CliRunner().invoke(app, ["paper", "all", "--run", str(salih)])
    assert 'a run of "quick", which is no study' in str(asked.exception)


def test_every_target_that_a_study_names_is_one_of_ours() -> None:
    for path in PAPERS.glob("*.toml"):
        for table in read_paper(path).tables:
            assert not table.target or (PROJECT.targets / table.target / "target.toml").is_file(), (
                table.target
            )


@pytest.fixture
def ozmen(tmp_path: Path) -> Path:
    """A run of both relays: their clients wait 5 and 6 ms, for events that are 1 and 2 ms old."""
    document = sample()
    cells, relays = [], []
    for number, target in enumerate(TARGETS):
        cell = next(cell for cell in document["cells"] if cell["target"] == target and cell["copy"] is None)
        rate = {"value": 200.0 - 40 * number, "interval": None}
        cells.append({**cell, "cell": target, "round_trips_per_s": rate})
        measures = {
            "relay_cpu_share": 0.02,
            "subscribers_cpu_share": 0.01,
            "relay_rss_bytes": 30e6,
            "subscribers_rss_bytes": 5e6,
            "wait_mean_ns": (5 + number) * 1e6,
            "client_p50_ns": (1 + number) * 1e6,
        }
        relay = {"cell": target, "target": target, "clients": 1, "upstream": "per-client", "fault": "none"}
        relays.append({**relay, "blocks": 1, "measures": measures, "policies": {}, "resumed": None})
    document |= {"scenario": "ozmen", "cells": cells, "relays": relays}
    run = tmp_path / "ozmen"
    run.mkdir()
    (run / "findings.json").write_text(json.dumps(document), encoding="utf-8")
    return run


def test_waits_and_ages_of_a_relay_stand_in_columns_of_their_own(ozmen: Path) -> None:
    reproduction = reproduce(read_paper(PAPERS / "ozmen.toml"), ozmen)
    wait, age = reproduction.conditions
    assert "study" in wait
    assert "age" in age
    measured = {
        (each.table, each.column, line.row): line.measured
        for each in reproduction.quantities
        for line in each.lines
    }
    assert measured["websockets", "cpu_percent", "Server"] == (pytest.approx(2.0), None)
    assert measured["websockets", "cpu_percent", "Client"] == (pytest.approx(1.0), None)
    assert measured["tornado", "memory_mb", "Client"] == (pytest.approx(5.0), None)
    assert measured["websockets-client", "latency", "Client"] == (pytest.approx(0.005), pytest.approx(0.001))
    assert measured["tornado", "latency", "Server"] == (None, None), "his code has no such measurement"
    assert measured["comparison", "latency_ms", "Tornado"] == (pytest.approx(6.0), pytest.approx(2.0))
    assert measured["comparison", "messages_per_s", "websockets"] == (pytest.approx(200.0), None)
    told = " ".join(reproduction.remarks)
    assert "waits 5.00 ms" in told
    assert "1.00 ms old" in told
    assert "79 s" in told


def test_a_relay_that_was_not_measured_is_told(ozmen: Path) -> None:
    document = json.loads((ozmen / "findings.json").read_text())
    document["relays"] = document["relays"][:1]
    (ozmen / "findings.json").write_text(json.dumps(document))
    reproduction = reproduce(read_paper(PAPERS / "ozmen.toml"), ozmen)
    assert "python/tornado was not measured in this run" in reproduction.remarks
