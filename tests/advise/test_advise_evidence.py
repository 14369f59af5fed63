"""What the advice reads: run directories as the analysis leaves them, and outcomes of capacity searches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedbench.advise.evidence import read_evidence
from feedbench.analyze import analyze_run
from feedbench.cli import app
from feedbench.errors import FeedbenchError, RunDirectoryError
from feedbench.paths import RunDirectory
from synthetic_run import Model, Synthetic, change_json, write_run

CAPACITY = {
    "schema": 1,
    "what": "go/gorilla",
    "of": "rate",
    "connections": 200,
    "payload": "binary:108",
    "quantile": "p99",
    "below_ns": 1_000_000,
    "value": 6_500,
    "interval": [6_000, 7_000],
    "estimates": [6_000, 6_500, 7_000],
    "trials": [],
    "at_least": False,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Two targets in a closed loop over 1 and 32 connections; python/slow takes three times as long."""
    models = (
        Model("go/fast", 30_000, cpu_ns_per_message=5_000, memory_bytes=10_000_000),
        Model("python/slow", 90_000, cpu_ns_per_message=40_000, memory_bytes=40_000_000),
    )
    made = write_run(
        tmp_path_factory.mktemp("advise") / "run",
        Synthetic(models=models, reference="go/fast", control="go/fast", measure_ns=200_000_000),
    )
    analyze_run(made)
    return made


def capacity_file(folder: Path, **changes: Any) -> Path:
    path = folder / "capacity.json"
    path.write_text(json.dumps(CAPACITY | changes), encoding="utf-8")
    return path


def ask(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["advise", *map(str, arguments)])


def test_cells_of_a_run_become_observations_and_copies_do_not(run: RunDirectory) -> None:
    evidence = read_evidence([run.path])
    assert [str(choice) for choice in evidence.choices] == ["go/fast (ws)", "python/slow (ws)"]
    assert {(one.choice.target, one.connections) for one in evidence.observations} == {
        (target, connections) for target in ("go/fast", "python/slow") for connections in (1, 32)
    }
    assert len(evidence.observations) == 4
    assert evidence.payloads == ["binary:108"]
    assert all(one.closed_loop for one in evidence.observations)
    fast = next(one for one in evidence.observations if one.cell == "go-fast+connections=32")
    assert fast.cpu_ns == pytest.approx(5_000)
    assert fast.memory_bytes is not None
    assert fast.memory_bytes > 10_000_000
    assert fast.p99_interval_ns is not None
    slow = next(one for one in evidence.observations if one.cell == "python-slow+connections=32")
    found = evidence.decision(slow, fast)
    assert found is not None
    assert found[1], "their run names go/fast first"


def test_the_command_line_advises_on_a_run(run: RunDirectory) -> None:
    asked = ask(run.path, "--streams", "32", "--rate", "5000", "--p99", "10ms", "--closed-loops", "--json")
    assert asked.exit_code == 0, asked.output
    document = json.loads(asked.stdout)
    assert [one["choice"]["target"] for one in document["chosen"]] == ["go/fast"]
    assert [one["choice"]["target"] for one in document["dominated"]] == ["python/slow"]
    assert document["schema"] == 1


def test_without_leave_a_closed_loop_shows_nothing(run: RunDirectory) -> None:
    asked = ask(run.path, "--streams", "32", "--rate", "5000", "--p99", "10ms")
    assert asked.exit_code == 0
    assert "Nothing measured in these runs is shown to meet this." in asked.stdout
    assert "feedbench capacity go/fast --of rate --connections 32" in asked.stdout


def test_a_capacity_search_counts_as_evidence(tmp_path: Path) -> None:
    path = capacity_file(tmp_path)
    asked = ask(path, "--streams", "200", "--rate", "5000", "--p99", "1ms")
    assert "p99 stayed below 1 ms up to 6,000 messages/s" in asked.stdout
    (observation,) = read_evidence([path]).observations
    assert observation.holds_rate_per_s == (6_000, 7_000)
    (open_ended,) = read_evidence([capacity_file(tmp_path, at_least=True)]).observations
    assert open_ended.holds_rate_per_s == (6_000, float("inf"))


@pytest.mark.parametrize(
    "changes", [{"of": "clients", "connections": None}, {"quantile": "p95"}, {"below_ns": None}]
)
def test_another_search_is_named_as_unused(tmp_path: Path, changes: dict[str, Any]) -> None:
    evidence = read_evidence([capacity_file(tmp_path, **changes)])
    assert evidence.observations == ()
    assert "not a search of a rate with a limit on p99" in evidence.unused[0]


def test_a_cell_that_failed_is_evidence_and_one_that_was_dropped_is_none(
    tmp_path: Path, run: RunDirectory
) -> None:
    copy = RunDirectory(Path(shutil.copytree(run.path, tmp_path / "copy")))

    def harm(findings: dict[str, Any]) -> None:
        crashed, lost = (cell for cell in findings["cells"] if cell["copy"] is None and "=1" in cell["cell"])
        crashed |= {"verdicts": {"ok": 9, "failed": 2}, "causes": ["failed: it crashed (block 3, 4)"]}
        lost |= {"per_block": [], "blocks": 0}

    change_json(copy.findings, harm)
    evidence = read_evidence([copy.path])
    failed = [one.failed for one in evidence.observations if one.failed]
    assert failed == ["it failed in 2 blocks: failed: it crashed (block 3, 4)"]
    assert len(evidence.observations) == 3
    assert "without a usable block" in evidence.unused[0]


def test_the_load_is_the_plans_also_where_it_was_no_factor(tmp_path: Path, run: RunDirectory) -> None:
    """A scenario with `connections = 32` in [load] has no such factor in its findings."""
    copy = RunDirectory(Path(shutil.copytree(run.path, tmp_path / "copy")))

    def forget(findings: dict[str, Any]) -> None:
        for cell in findings["cells"]:
            cell["factors"] = {}

    change_json(copy.findings, forget)
    assert sorted(one.connections for one in read_evidence([copy.path]).observations) == [1, 1, 32, 32]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pacer": {"kind": "burst", "messages": 100, "interval_ns": 250_000_000}}, "asked in bursts"),
        ({"client": "own"}, "driven by own"),
    ],
)
def test_what_tells_nothing_of_a_server_under_steady_load_is_named(
    tmp_path: Path, run: RunDirectory, change: dict[str, Any], words: str
) -> None:
    copy = RunDirectory(Path(shutil.copytree(run.path, tmp_path / "copy")))

    def alter(plan: dict[str, Any]) -> None:
        for condition in plan["conditions"]:
            condition["load"] |= change

    change_json(copy.plan, alter)
    evidence = read_evidence([copy.path])
    assert evidence.observations == ()
    assert all(text.endswith(words) for text in evidence.unused)


def test_event_ages_of_clients_are_never_taken_for_round_trips_of_servers(
    tmp_path: Path, run: RunDirectory
) -> None:
    copy = RunDirectory(Path(shutil.copytree(run.path, tmp_path / "copy")))

    def turn(findings: dict[str, Any]) -> None:
        for question in findings["questions"]:
            question["quantity"] = "event_age"

    change_json(copy.findings, turn)
    evidence = read_evidence([copy.path])
    assert evidence.observations == ()
    assert evidence.unused == (f"{copy.path}: event ages of clients, while this is about servers",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--p99", "1"], "is not a duration"),
        (["--p99", "0ms"], "a limit of 0"),
        (["--p99", "1ms", "--memory", "plenty"], "is no size"),
        (["--p99", "1ms", "--doors", "smtp"], "is no door"),
        (["--p99", "1ms", "--loss-tolerance", "2"], "between 0 and 1"),
        (["--p99", "1ms", "--payload", "json:9"], "no run given here sent"),
    ],
)
def test_a_need_that_makes_no_sense_is_refused(run: RunDirectory, arguments: list[str], words: str) -> None:
    asked = ask(run.path, "--streams", "1", "--rate", "1", *arguments)
    assert isinstance(asked.exception, FeedbenchError)
    assert words in str(asked.exception)


def test_a_file_that_is_no_capacity_and_a_folder_that_is_no_run_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"schema": 1, "what": "x"}', encoding="utf-8")
    for path in (other, tmp_path):
        with pytest.raises(RunDirectoryError):
            read_evidence([path])


def test_runs_with_several_payloads_ask_which_one_counts(tmp_path: Path, run: RunDirectory) -> None:
    other = capacity_file(tmp_path, payload="text:37")
    needed = ("--streams", "1", "--rate", "1", "--p99", "1ms")
    asked = ask(run.path, other, *needed)
    assert isinstance(asked.exception, FeedbenchError)
    assert "binary:108, text:37 (--payload)" in str(asked.exception)
    assert ask(run.path, other, *needed, "--payload", "text:37").exit_code == 0
