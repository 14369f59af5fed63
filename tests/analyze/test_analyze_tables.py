"""Tables, the first paper's among them, and two runs beside each other."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.analyze import analyze_run
from feedbench.analyze.table import Column, Table, microseconds
from feedbench.analyze.tables import to_csv, to_latex, to_markdown
from feedbench.analyze.upgrade import Upgrade, compare_runs
from feedbench.cli.compare import _facts
from feedbench.paths import RunDirectory, write_json
from synthetic_run import QUICK, Synthetic, change_json, write_run

SMALL = Synthetic(models=QUICK[:3], connections=(1,), measure_ns=50_000_000, slice_sd=0.003)
TABLE = Table("t", "50 % of a_b", (Column("name", "Name"), Column("p50_ns", "p50 (µs)", microseconds)), (("a|b_c", 12_345), ("d", None)))  # fmt: skip # noqa: E501


def test_a_table_in_three_forms() -> None:
    assert to_csv(TABLE) == "name,p50_ns\na|b_c,12345\nd,\n"
    assert to_markdown(TABLE) == "| Name | p50 (µs) |\n| --- | --- |\n| a\\|b_c | 12.35 |\n| d |  |\n"
    latex = to_latex(TABLE)
    assert "\\caption{50 \\% of a\\_b}" in latex
    assert "a|b\\_c & 12.35 \\\\" in latex
    assert latex.count("&") == 3


def test_tables_hold_what_the_findings_do(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SMALL)
    findings = analyze_run(run)
    assert {path.name for path in run.tables.iterdir()} == {
        f"{name}.{suffix}"
        for name in ("ranking", "decisions", "cells", "targets")
        for suffix in ("csv", "md", "tex")
    }
    with (run.tables / "ranking.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ranking = findings.questions[0].ranking
    assert [row["target"] for row in rows] == [ranked.target for ranked in ranking]
    assert [int(row["p50_ns"]) for row in rows] == [ranked.estimates["p50"].value_ns for ranked in ranking]
    with (run.tables / "cells.csv").open(encoding="utf-8") as file:
        assert [row["cell"] for row in csv.DictReader(file)] == [cell.cell for cell in findings.cells]


def test_what_a_target_takes_stands_beside_the_ranking(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SMALL)
    name = SMALL.models[0].name
    process = name.replace("/", "-")
    change_json(run.receipt(name), lambda receipt: receipt.update(source_lines=39, all_dependencies=3))
    for block in range(SMALL.blocks):
        start = {"start_up_ns": 5_000_000 + block, "rss_bytes": 1_000_000 + block}
        write_json(run.starts(block), {"schema": 1, "block": block, "processes": {process: start}})
    analyze_run(run)
    with (run.tables / "targets.csv").open(encoding="utf-8") as file:
        rows = {row["target"]: row for row in csv.DictReader(file)}
    middle = (SMALL.blocks - 1) // 2
    assert (rows[name]["source_lines"], rows[name]["all_dependencies"]) == ("39", "3")
    assert rows[name]["direct_dependencies"] == "", "nothing tells"
    assert rows[name]["build_seconds"] == "1.2"
    assert int(float(rows[name]["start_up_ns"])) == 5_000_000 + middle
    assert int(rows[name]["start_rss_bytes"]) == 1_000_000 + middle
    assert set(rows) == {model.name for model in SMALL.models}
    assert {row["start_up_ns"] for other, row in rows.items() if other != name} == {""}


def test_a_withheld_ranking_is_a_row_with_its_reason(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replace(SMALL, sentinel_factor=1.05))
    analyze_run(run)
    with (run.tables / "ranking.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["target"] == ""
    assert row["withheld"].startswith("the A/A sentinel failed")


def test_the_first_papers_tables_come_in_its_columns(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replace(SMALL, scenario="salih", connections=(1, 4), blocks=6))
    findings = analyze_run(run)
    table = (run.tables / "salih-node-ws.md").read_text(encoding="utf-8").splitlines()
    assert table[0] == (
        "| Number of Clients | Total Messages | Average Latency (ms) | Min Latency (ms) | Max Latency (ms) "
        "| Throughput (messages/sec) | Average Throughput per Client (messages/sec) |"
    )
    assert [line.split("|")[1].strip() for line in table[2:]] == ["1", "4"]
    with (run.tables / "salih-node-ws.csv").open(encoding="utf-8") as file:
        row = list(csv.DictReader(file))[1]
    cell = next(cell for cell in findings.cells if cell.cell == "node-ws+connections=4")
    assert int(row["total_messages"]) == cell.received
    assert float(row["throughput_per_client_per_s"]) * 4 == pytest.approx(float(row["throughput_per_s"]))
    assert float(row["average_latency_ms"]) == cell.latency_ns["mean"] / 1e6
    # The text file is appended to, once for each run.
    text = (run.tables / "results.txt").read_text(encoding="utf-8")
    assert text.count("--- node-ws ---") == 1
    analyze_run(run)
    assert (run.tables / "results.txt").read_text(encoding="utf-8") == text


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return write_run(tmp_path_factory.mktemp("before") / "before", SMALL)


def upgraded(before: RunDirectory, after: RunDirectory) -> Upgrade:
    return compare_runs(_facts(before.path), _facts(after.path))


def decisions(upgrade: Upgrade) -> dict[str, str]:
    return {change.cell: change.comparison.outcome for change in upgrade.changes if change.quantile == "p50"}


def test_a_run_beside_itself_has_not_changed(before: RunDirectory) -> None:
    upgrade = upgraded(before, before)
    assert {change.comparison.ratio for change in upgrade.changes} == {1.0}
    assert {change.comparison.outcome for change in upgrade.changes} <= {"equivalent", "undecided"}
    assert upgrade.warnings == ()


def test_a_slower_version_is_found_and_nothing_else(before: RunDirectory, tmp_path: Path) -> None:
    slower = replace(QUICK[1], latency_ns=int(QUICK[1].latency_ns * 1.4), version="1.1")
    after = write_run(tmp_path / "after", replace(SMALL, models=(QUICK[0], slower, QUICK[2]), seed=2))
    upgrade = upgraded(before, after)
    found = {name for name, outcome in decisions(upgrade).items() if outcome == "different"}
    assert found == {"rust-fastwebsockets+connections=1"}
    change = next(change for change in upgrade.changes if change.cell in found)
    assert change.versions == ("1.0", "1.1")
    assert change.comparison.interval is not None
    assert change.comparison.interval[0] < 1.4 < change.comparison.interval[1]
    assert upgrade.warnings == ()


def test_what_else_changed_is_said(before: RunDirectory, tmp_path: Path) -> None:
    models = tuple(replace(model, latency_ns=model.latency_ns * 2) for model in SMALL.models)
    after = write_run(tmp_path / "after", replace(SMALL, models=models, connections=(1, 4), blocks=5))
    change_json(after.host, lambda host: host.update(kernel="6.2.0"))
    change_json(after.receipt("c/floor"), lambda receipt: receipt.update(toolchain="C 2"))
    shutil.rmtree(after.tables, ignore_errors=True)
    upgrade = upgraded(before, after)
    text = "\n".join(upgrade.warnings)
    assert "kernel was 6.1.0, is 6.2.0" in text
    assert "blocks was 11, is 5" in text
    assert "c-floor+connections=1: the toolchain was C 1, is C 2" in text
    assert "fewer than 6 blocks" in text
    assert all("connections=4" in name for name in upgrade.only_after)


def test_a_machine_that_changed_gives_itself_away(before: RunDirectory, tmp_path: Path) -> None:
    models = tuple(replace(model, latency_ns=int(model.latency_ns * 1.5)) for model in SMALL.models)
    after = write_run(tmp_path / "after", replace(SMALL, models=models, seed=3))
    assert "the machine may have changed" in "\n".join(upgraded(before, after).warnings)
