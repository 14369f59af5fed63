"""From a run directory to its findings: sound runs, planted faults, and runs that stopped half-way."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from feedbench.analyze import analyze_run, ranking_text
from feedbench.analyze.findings import Findings, QuestionFinding
from feedbench.document import SPEC
from feedbench.errors import RunDirectoryError
from feedbench.paths import RunDirectory
from feedbench.samples import RECORD, read_samples, write_samples
from synthetic_run import QUICK, Model, Synthetic, change_json, write_run

UPDATE = "FEEDBENCH_UPDATE_GOLDEN"  # set it to 1 to accept what is found now
GOLDEN = Path(__file__).parent / "golden" / "findings.json"
SMALL = Synthetic(models=QUICK[:4], connections=(1,), measure_ns=50_000_000, slice_sd=0.003)
QUESTION = "connections=1"


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return write_run(tmp_path_factory.mktemp("sound") / "run", SMALL)


@pytest.fixture
def run(sound: RunDirectory, tmp_path: Path) -> RunDirectory:
    """A copy to plant faults in."""
    shutil.copytree(sound.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def analyzed(run: RunDirectory) -> Findings:
    """The findings, once their file is known to keep to its schema."""
    findings = analyze_run(run)
    schema = json.loads((SPEC / "findings.schema.json").read_text(encoding="utf-8"))
    document = json.loads(run.findings.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    return findings


def only(findings: Findings) -> QuestionFinding:
    (question,) = findings.questions
    return question


def codes(findings: Findings) -> set[str]:
    return {entry.code for entry in findings.advice}


def folders(run: RunDirectory, process: str, blocks: range = range(11)) -> list[Path]:
    return [run.cell(block, f"{process}+{QUESTION}") for block in blocks]


def test_a_sound_run_is_ranked_as_it_was_made(run: RunDirectory) -> None:
    findings = analyzed(run)
    question = only(findings)
    assert question.withheld is None
    assert question.sentinel is not None
    assert question.sentinel.passed
    assert question.control is not None
    assert question.control.passed
    assert [(ranked.target, ranked.rank, ranked.tier) for ranked in question.ranking] == [
        ("c/floor", (1, 1), 1),
        ("rust/fastwebsockets", (2, 2), 2),
        ("node/ws", (3, 4), 3),
        ("python/picows", (3, 4), 3),
    ]
    outcomes = {(*decision.pair, decision.quantile): decision.outcome for decision in question.decisions}
    assert outcomes["node/ws", "python/picows", "p50"] == "equivalent"
    assert outcomes["c/floor", "node/ws", "p50"] == "different"
    assert abs(question.control.found_ns - 5_000) < 300  # type: ignore[operator]
    assert findings.complete
    assert codes(findings) == {"closed_loop"}
    assert "rust/fastwebsockets" in ranking_text(findings)


def test_the_findings_of_a_known_run_stay_what_they_were(tmp_path: Path) -> None:
    synthetic = replace(SMALL, models=QUICK[1:3], control="node/ws", blocks=6, measure_ns=25_000_000)
    analyzed(write_run(tmp_path / "run", synthetic))
    found = json.loads((tmp_path / "run" / "findings.json").read_text(encoding="utf-8"))
    if os.environ.get(UPDATE):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    meant = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert_like(found, meant, f"set {UPDATE}=1 if the new findings are meant; at findings")


def assert_like(found: Any, meant: Any, place: str) -> None:
    """Equal but for numbers, to 1 in 1,000: each CPU rounds the model's exp() in its own way."""
    assert type(found) is type(meant), place
    if isinstance(meant, dict):
        assert found.keys() == meant.keys(), place
        for key in meant:
            assert_like(found[key], meant[key], f"{place}.{key}")
    elif isinstance(meant, list):
        assert len(found) == len(meant), place
        for index, (one, other) in enumerate(zip(found, meant, strict=True)):
            assert_like(one, other, f"{place}[{index}]")
    elif isinstance(meant, float | int) and not isinstance(meant, bool):
        assert found == pytest.approx(meant, rel=1e-3, abs=2e-3), place
    else:
        assert found == meant, place


@pytest.mark.parametrize("seed", range(3))
def test_planted_distributions_come_out_exact(tmp_path: Path, seed: int) -> None:
    """p25 … p99.99 of known integers, through samples.fbs to findings.json, to the nanosecond."""
    run = write_run(tmp_path / "run", replace(SMALL, models=QUICK[:2], reference="c/floor", blocks=6))
    random = np.random.default_rng(seed)
    # Beyond 2^53 ns no float could tell neighbours apart.
    everything = random.lognormal(10.4, 0.8, 6 * 9_000).astype(np.uint64) + np.uint64(2**54 if seed else 0)
    for part, folder in zip(everything.reshape(6, -1), folders(run, "c-floor", range(6)), strict=True):
        records = np.zeros(len(part), RECORD)
        records["received_ns"] = part
        write_samples(folder / "samples.fbs", records, name="planted")
        ascending = sorted(part.tolist())

        def tell(load: dict[str, Any], ascending: list[int] = ascending) -> None:
            count = len(ascending)
            load |= {"sent": count, "received": count, "sent_total": count, "received_total": count}
            load |= {"measured_ns": 0, "latency_ns": {"count": count}, "latency_from_send_ns": {}}

        change_json(folder / "load.json", tell)
    findings = analyzed(run)
    cell = next(cell for cell in findings.cells if cell.cell == f"c-floor+{QUESTION}")
    assert findings.impossible == ()
    ascending = sorted(everything.tolist())
    shares = {"p25": (1, 4), "p50": (1, 2), "p75": (3, 4), "p90": (9, 10), "p95": (19, 20), "p99": (99, 100)}
    shares |= {"p99.9": (999, 1000), "p99.99": (9_999, 10_000)}
    for name, (numerator, denominator) in shares.items():
        assert cell.latency_ns[name] == ascending[-(-numerator * len(ascending) // denominator) - 1], name
    assert (cell.latency_ns["min"], cell.latency_ns["max"]) == (ascending[0], ascending[-1])
    assert cell.latency_ns["mean"] == sum(ascending) / len(ascending)
    document = json.loads(run.findings.read_text(encoding="utf-8"))
    written = next(entry for entry in document["cells"] if entry["cell"] == cell.cell)
    assert written["latency_ns"] == cell.latency_ns


def test_no_ranking_when_the_sentinel_fails(tmp_path: Path) -> None:
    findings = analyzed(write_run(tmp_path / "run", replace(SMALL, sentinel_factor=1.04)))
    question = only(findings)
    assert question.withheld is not None
    assert question.withheld.startswith("the A/A sentinel failed")
    assert question.ranking == ()
    assert {decision.outcome for decision in question.decisions} == {"undecided"}
    assert "sentinel_failed" in codes(findings)
    assert "No ranking" in ranking_text(findings)


@pytest.mark.parametrize(
    ("found_delay_ns", "reason", "outcomes"),
    [
        (0, "the control was not found", {"different", "undecided"}),
        (20_000, "the control came out with the wrong sign or size", {"undecided"}),
        (-5_000, "the control came out with the wrong sign or size", {"undecided"}),
    ],
)
def test_no_ranking_when_the_control_fails(
    tmp_path: Path, found_delay_ns: int, reason: str, outcomes: set[str]
) -> None:
    findings = analyzed(write_run(tmp_path / "run", replace(SMALL, found_delay_ns=found_delay_ns)))
    question = only(findings)
    assert question.withheld is not None
    assert question.withheld.startswith(reason)
    assert question.ranking == ()
    # What an insensitive run did find, it found; what it did not find it can't call equal.
    assert {decision.outcome for decision in question.decisions} == outcomes
    assert "control_failed" in codes(findings)


def test_a_question_without_copies_ranks_nothing(run: RunDirectory) -> None:
    def forget(plan: dict[str, Any]) -> None:
        plan["questions"][0] |= {"sentinel": None, "control": None}

    change_json(run.plan, forget)
    findings = analyzed(run)
    assert only(findings).withheld == "it has no A/A sentinel to show that equals come out equal"
    assert "no_copies" in codes(findings)


def set_environment(run: RunDirectory, block: int, **fields: Any) -> None:
    change_json(run.environment(block, QUESTION), lambda environment: environment.update(fields))


@pytest.mark.parametrize(
    ("gate", "plant"),
    [
        ("steal_share", lambda run: set_environment(run, 3, steal_share=0.02)),
        (
            "run_delay_share",
            lambda run: change_json(
                run.environment(3, QUESTION),
                lambda environment: environment.update(
                    target_run_delay_share=dict.fromkeys(environment["target_run_delay_share"], 0.2)
                ),
            ),
        ),
        (
            "engine_stalls",
            lambda run: change_json(
                folders(run, "node-ws")[3] / "load.json", lambda load: load.update(engine_stalls=90)
            ),
        ),
        (
            "lateness_p999_share",
            lambda run: change_json(
                folders(run, "node-ws")[3] / "load.json",
                lambda load: load["lateness_ns"].update({"p99.9": 9_000}),
            ),
        ),
        ("environment_record", lambda run: run.environment(3, QUESTION).unlink()),
    ],
)
def test_a_block_that_fails_a_gate_is_dropped_whole_counted_and_shown(
    run: RunDirectory, gate: str, plant: Callable[[RunDirectory], None]
) -> None:
    plant(run)
    findings = analyzed(run)
    question = only(findings)
    assert [(drop.block, drop.gate) for drop in question.blocks_dropped] == [(3, gate)]
    assert question.blocks_used == 10
    assert all(cell.blocks == 10 for cell in findings.cells)  # from all targets alike
    assert {line["block"] for cell in findings.cells for line in cell.per_block} == set(range(11)) - {3}
    assert question.withheld is None
    assert "blocks_dropped" in codes(findings)
    if gate != "environment_record":
        failed = next(entry for entry in question.gates if entry.name == gate)
        assert (failed.passed, failed.blocks_failed) == (False, 1)


def test_a_target_in_its_own_way_does_not_cost_the_others_their_blocks(run: RunDirectory) -> None:
    for block in range(11):
        change_json(
            run.environment(block, QUESTION),
            lambda environment: environment["target_run_delay_share"].update({"node-ws": 0.4}),
        )
    findings = analyzed(run)
    assert only(findings).blocks_dropped == ()
    assert "own_run_delay" in codes(findings)


def test_too_few_blocks_decide_nothing_and_say_so(run: RunDirectory) -> None:
    for block in range(6):
        set_environment(run, block, steal_share=0.5)
    findings = analyzed(run)
    question = only(findings)
    assert question.withheld == "5 blocks are left, and no exact test says anything below 6"
    assert {decision.outcome for decision in question.decisions} == {"undecided"}
    assert "few_blocks" in codes(findings)
    assert all(cell.latency_ns["p50"] for cell in findings.cells)  # what was measured is still shown


def test_a_target_that_dies_leaves_the_others_ranked(run: RunDirectory) -> None:
    died = {"verdict": "failed", "cause": "it exited with 1"}
    for folder in folders(run, "node-ws~sentinel", range(9, 11)) + folders(run, "rust-fastwebsockets"):
        change_json(folder / "status.json", lambda status: status.update(died))
    findings = analyzed(run)
    question = only(findings)
    assert [ranked.target for ranked in question.ranking] == ["c/floor", "node/ws", "python/picows"]
    assert [entry.target for entry in findings.not_measured] == ["csharp/fleck", "rust/fastwebsockets"]
    dead = next(cell for cell in findings.cells if cell.target == "rust/fastwebsockets")
    assert dead.verdicts == {"failed": 11}
    assert dead.causes == ("failed: it exited with 1 (block 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",)
    assert dead.latency_ns["p50"] is None


def test_fast_but_wrong_is_no_result(run: RunDirectory) -> None:
    for folder in folders(run, "c-floor", range(2)):
        change_json(folder / "load.json", lambda load: load.update(wrong=7))
    cell = next(cell for cell in analyzed(run).cells if cell.cell == f"c-floor+{QUESTION}")
    assert cell.verdicts == {"failed": 2, "ok": 9}
    assert cell.causes == ("failed: 7 messages wrong, at most 0 expected (block 0, 1)",)
    assert cell.blocks == 9


def test_impossible_numbers_take_no_part(run: RunDirectory) -> None:
    change_json(folders(run, "c-floor")[2] / "load.json", lambda load: load.update(sent=load["sent"] + 1))
    change_json(
        folders(run, "c-floor")[4] / "load.json",
        lambda load: load.update(round_trips_per_s=load["round_trips_per_s"] * 1.1),
    )
    findings = analyzed(run)
    assert [(law.cell, law.check, law.text[:8]) for law in findings.impossible] == [
        (f"c-floor+{QUESTION}", "counts", "block 2:"),
        (f"c-floor+{QUESTION}", "littles_law", "block 4:"),
    ]
    assert "impossible" in codes(findings)
    cell = next(cell for cell in findings.cells if cell.cell == f"c-floor+{QUESTION}")
    assert cell.blocks == 9


def test_samples_cut_short_are_used_as_far_as_they_go_and_missing_ones_are_not(run: RunDirectory) -> None:
    short, gone, torn = folders(run, "c-floor", range(3))
    content = (short / "samples.fbs").read_bytes()
    (short / "samples.fbs").write_bytes(content[: len(content) // 2])
    (gone / "samples.fbs").unlink()
    (torn / "load.json").write_text('{"schema": 1, "na', encoding="utf-8")
    findings = analyzed(run)
    cell = next(cell for cell in findings.cells if cell.cell == f"c-floor+{QUESTION}")
    assert cell.blocks == 9  # the short one counts
    assert cell.verdicts == {"ok": 10, "failed": 1}
    assert "cut_short" in codes(findings)
    assert only(findings).withheld is None


def test_an_interrupted_run_says_so_and_is_analyzed_as_far_as_it_went(run: RunDirectory) -> None:
    for block in range(8, 11):
        shutil.rmtree(run.block(block))
    change_json(
        run.path / "run.json", lambda record: record.update(stopped="interrupted", blocks_done=list(range(8)))
    )
    findings = analyzed(run)
    assert not findings.complete
    assert only(findings).blocks_used == 8
    assert "incomplete" in codes(findings)
    advice = next(entry for entry in findings.advice if entry.code == "incomplete")
    assert advice.text == "The run stopped early (interrupted): 8 of 11 blocks were measured."


def test_a_run_without_its_record_is_as_complete_as_its_blocks(run: RunDirectory) -> None:
    (run.path / "run.json").unlink()
    assert analyzed(run).complete
    shutil.rmtree(run.block(10))
    assert not analyzed(run).complete


def test_a_bare_directory_of_somebody_else_is_enough(run: RunDirectory) -> None:
    """Without receipts, ceiling and host, what they would say is unknown; the rest stands."""
    shutil.rmtree(run.path / "build")
    for path in (run.ceiling, run.host, run.path / "run.json"):
        path.unlink()
    findings = analyzed(run)
    assert only(findings).withheld is None
    assert {(cell.version, cell.ceiling_share) for cell in findings.cells} == {(None, None)}


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda run: run.plan.unlink(), "plan.json: the file is missing"),
        (lambda run: run.plan.write_text("{", encoding="utf-8"), "not whole JSON"),
        (lambda run: change_json(run.plan, lambda plan: plan.update(schema=9)), "schema 9"),
        (lambda run: shutil.rmtree(run.path / "blocks"), "nothing was measured in this run"),
    ],
)
def test_what_can_not_be_analyzed_is_refused_in_words(
    run: RunDirectory, spoil: Callable[[RunDirectory], None], complaint: str
) -> None:
    spoil(run)
    with pytest.raises(RunDirectoryError, match=complaint):
        analyze_run(run)


def test_targets_that_do_different_work_are_told_apart_in_words(tmp_path: Path) -> None:
    odd = Model("go/gorilla", 30_000, options={"deflate": "off", "nodelay": "on", "threads": "2"})
    run = write_run(
        tmp_path / "run", Synthetic(models=(*QUICK[:3], odd), connections=(1,), measure_ns=50_000_000)
    )
    for folder in folders(run, "node-ws"):
        change_json(folder / "load.json", lambda load: load["options"].update(deflate="permessage-deflate"))
    findings = analyzed(run)
    assert [difference.option for difference in findings.options_differences] == ["deflate", "threads"]
    threads = findings.options_differences[1]
    assert threads.values == {"1": ("c/floor", "node/ws", "rust/fastwebsockets"), "2": ("go/gorilla",)}
    assert "options_differ" in codes(findings)


def test_the_samples_themselves_are_left_alone(run: RunDirectory) -> None:
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    analyzed(run)
    assert all(path.read_bytes() == content for path, content in before.items())
    assert read_samples(next(run.path.rglob("samples.fbs"))).complete


def test_analyzing_twice_finds_the_same(run: RunDirectory) -> None:
    first = analyzed(run).to_json()
    assert analyzed(run).to_json() == first
