"""From lines to tables and figures: cut records, averages, the study's columns, who is in which figure."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from ramp_lines import end_line, round_line

from feedbench.errors import RunDirectoryError
from feedbench.paths import Project
from feedbench.ramp.averages import by_target, longest_s, request_s
from feedbench.ramp.campaign import Campaign, read_campaign
from feedbench.ramp.figures import ramp_figures
from feedbench.ramp.page import summary_table
from feedbench.ramp.progress import left_ns, share_done
from feedbench.ramp.record import read_repeat, repeat_file
from feedbench.ramp.study import COLUMNS
from feedbench.ramp.summary import read_repeats, write_results

TOMASETTI = Project.find(Path(__file__).parent).scenarios / "papers" / "tomasetti.toml"


def record(run: Path, target: str, number: int, lines: list[dict[str, object]], tail: str = "") -> None:
    path = repeat_file(run, target, number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail, encoding="utf-8")


@pytest.fixture
def campaign() -> Campaign:
    whole = read_campaign(TOMASETTI)
    return replace(whole, targets=("go/gorilla", "python/websockets"), repeats=2)


@pytest.fixture
def run(tmp_path: Path, campaign: Campaign) -> Path:
    """gorilla finishes twice; websockets breaks in round 2, and its second repeat could not start."""
    three = [round_line(number) for number in (1, 2, 3)]
    record(tmp_path, "go/gorilla", 1, [*three, end_line(3)])
    slower = [{**line, "elapsed_ns": 3 * line["elapsed_ns"]} for line in three]
    record(tmp_path, "go/gorilla", 2, [*slower, end_line(3)])
    broken = [round_line(1), round_line(2, answered=160, ended="silence"), round_line(3, answered=0)]
    record(tmp_path, "python/websockets", 1, [*broken, end_line(3, stopped="nothing_answered", broken=2)])
    record(tmp_path, "python/websockets", 2, [{"schema": 1, "kind": "failed", "cause": "it died"}])
    return tmp_path


def test_a_record_tells_how_far_it_came(run: Path) -> None:
    gorilla, websockets = (read_repeat(run, name, 1) for name in ("go/gorilla", "python/websockets"))
    assert (gorilla.whole, gorilla.finished, gorilla.broken_round) == (True, True, None)
    assert (websockets.whole, websockets.finished, websockets.broken_round) == (True, False, 2)
    assert read_repeat(run, "python/websockets", 2).failure == "it died"
    assert not read_repeat(run, "go/gorilla", 3).whole


def test_an_interrupted_record_keeps_its_whole_rounds_and_is_played_again(tmp_path: Path) -> None:
    lines = [
        round_line(1),
        round_line(2, answered=3, ended="interrupted"),
        end_line(2, stopped="interrupted"),
    ]
    record(tmp_path, "go/gorilla", 1, lines)
    repeat = read_repeat(tmp_path, "go/gorilla", 1)
    assert ([round.number for round in repeat.rounds], repeat.whole) == ([1], False)
    record(tmp_path, "go/gorilla", 2, [round_line(1)], tail='{"kind": "rou')
    cut = read_repeat(tmp_path, "go/gorilla", 2)
    assert (len(cut.rounds), cut.whole) == (1, False)


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    record(tmp_path, "go/gorilla", 1, [{"kind": "round", "round": 1}])
    with pytest.raises(RunDirectoryError, match="no record of a ramp"):
        read_repeat(tmp_path, "go/gorilla", 1)


def test_repeats_are_averaged_round_by_round(run: Path, campaign: Campaign) -> None:
    gorilla, websockets = by_target(read_repeats(campaign, run))
    points = gorilla.points(request_s)
    assert [point.connections for point in points] == [10, 20, 30]
    assert [point.value for point in points] == pytest.approx([0.02, 0.04, 0.06])
    assert (points[0].low, points[0].high) == pytest.approx((0.01, 0.03))
    assert gorilla.total(request_s).value == pytest.approx(0.12)
    # A round without an answer has no time.
    assert [point.connections for point in websockets.points(longest_s)] == [10, 20]


def test_the_studys_files_have_its_columns(run: Path, campaign: Campaign) -> None:
    write_results(campaign, run, study_folder=run / "tomasetti", left_out={"php/ratchet": "no php"})
    with (run / "tomasetti" / "python-websockets" / "1_1.csv").open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == COLUMNS
    assert rows[1] == [
        "20",
        "160",
        "200",
        "80.0000",
        "20.000000",
        "20.000000",
        "1.000000",
        "2.500000",
        "3.000000",
    ]
    assert rows[2][5:8] == ["", "", ""], "no answer, no longest, shortest, average"
    assert not (run / "tomasetti" / "python-websockets" / "2_1.csv").exists()
    text = (run / "summary.md").read_text(encoding="utf-8")
    assert "python/websockets, repeat 1: broke in round 2 with 20 connections, 20.0% lost (planted)." in text
    assert "python/websockets, repeat 2: not measured, it died." in text
    assert "php/ratchet: left out, no php" in text
    assert "50,500,000 requests in a whole ramp" in text


def test_figures_are_the_studys_and_only_finishers_are_ranked(run: Path, campaign: Campaign) -> None:
    figures = {figure.name: figure for figure in ramp_figures(by_target(read_repeats(campaign, run)))}
    assert list(figures) == [
        "figure-1",
        "figure-2",
        "figure-3",
        "figure-4",
        "figure-5",
        "figure-1-all",
        "figure-6",
        "figure-7",
        "figure-8",
    ]
    for name, figure in figures.items():
        everyone = name in ("figure-1-all", "figure-7")
        assert ("python/websockets" in figure.description) == everyone, name
        assert "go/gorilla" in figure.description


def test_the_time_left_knows_that_rounds_grow() -> None:
    assert share_done(100, 100) == 1.0
    assert share_done(50, 100) == pytest.approx(0.2525, abs=1e-4)
    assert left_ns(elapsed_ns=100, done=0.25, whole=2) == 700
    assert left_ns(elapsed_ns=100, done=0.0, whole=2) is None


def test_the_page_tells_how_far_each_came_and_loads_nothing(run: Path, campaign: Campaign) -> None:
    planted = '<script>alert("x")</script>'
    write_results(campaign, run, study_folder=run / "tomasetti", left_out={"php/ratchet": planted})
    page = (run / "summary.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in re.sub(r'http-equiv|xmlns(:\w+)?="[^"]*"', "", page)
    assert page.count("<svg") == 9

    table = summary_table(by_target(read_repeats(campaign, run)))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["Target"] for row in rows] == ["go/gorilla", "python/websockets"]
    gorilla, websockets = rows
    assert gorilla["Broke in round"] == "–"
    assert gorilla["Leaks"] == "0"
    assert websockets["Broke in round"] == "2"
    # Of 100, 200 and 300 requests 100, 160 and none were answered.
    assert websockets["Lost"] == "57 %"
    assert websockets["p50"] == "2.00 ms", "that of round 1, which did not break"


def test_leaks_are_told(run: Path, campaign: Campaign) -> None:
    leaking = {**end_line(1), "descriptors": {"before": 5, "most": 9, "after": 7, "leaked": 2}}
    record(run, "go/gorilla", 2, [round_line(1), leaking])
    table = summary_table(by_target(read_repeats(campaign, run)))
    assert [row[-1] for row in table.rows] == ["2", "0"]


def test_memory_per_connection_is_the_growth_over_whole_rounds(run: Path, campaign: Campaign) -> None:
    first, second, third = (
        {**round_line(number), "target_rss_bytes": 1_000_000 + 2048 * 10 * number} for number in (1, 2, 3)
    )
    record(run, "go/gorilla", 1, [first, second, third, end_line(3)])
    table = summary_table(by_target(read_repeats(campaign, run)))
    assert table.rows[0][table.columns.index("Server's memory")] == "2.05 kB"
