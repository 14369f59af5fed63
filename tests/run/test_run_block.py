"""Every cell of a block gets a status, whatever target or engine do."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from laboratory import MakeLaboratory

from feedbench.run.block import read_block, run_block, set_aside
from feedbench.run.interruption import Interruption

pytestmark = pytest.mark.end_to_end


def test_a_good_block_is_whole_and_measured(laboratory: MakeLaboratory) -> None:
    lab = laboratory()
    with Interruption() as interruption:
        record = run_block(lab.context(interruption), lab.plan.blocks[0])
    assert record is not None
    assert read_block(lab.directory, 0) == record
    statuses = lab.statuses()
    assert set(statuses) == {cell.id for cell in lab.plan.cells}
    assert {status["verdict"] for status in statuses.values()} == {"ok"}
    used = json.loads((lab.directory.cell(0, lab.plan.cells[0].id) / "resources.json").read_text())
    assert used["cpu_ns"] > 0
    assert used["rss_idle_bytes"] > 1_000_000
    round_ = lab.plan.rounds[0].id
    environment = json.loads(lab.directory.environment(0, round_).read_text())
    assert set(environment["target_run_delay_share"]) == {process.id for process in lab.plan.processes}


def test_a_block_that_holds_a_choice_starts_and_records_only_that(laboratory: MakeLaboratory) -> None:
    lab = laboratory()
    block = replace(lab.plan.blocks[0], start_order=("_fake-echo",))
    with Interruption() as interruption:
        assert run_block(lab.context(interruption), block) is not None
    assert set(lab.statuses()) == {cell.id for cell in lab.plan.cells if cell.process == "_fake-echo"}
    starts = json.loads((lab.directory.block(0) / "starts.json").read_text())
    assert set(starts["processes"]) == {"_fake-echo"}
    assert starts["processes"]["_fake-echo"]["start_up_ns"] > 0
    assert starts["processes"]["_fake-echo"]["rss_bytes"] > 1_000_000


FAULTS = [
    ("a port that stays taken", 'start = "port-taken"', "", "failed", "in use|taken"),
    ("a server that never listens", 'start = "hang"', "", "failed", "no handshake within 1.5 s"),
    ("a server that refuses the handshake", 'handshake = "refuse"', "", "failed", "403"),
    ("a server that says that it can't", 'start = "unsupported"', "", "unsupported", "does not support"),
    ("an engine that is killed", "", "die", "failed", r"engine ended with signal 9 \(SIGKILL\)"),
    ("an engine that leaves no result", "", "silent", "failed", "no usable result"),
    ("an engine whose result is cut short", "", "garbage", "failed", "not whole JSON"),
    ("answers that went missing", "", "lost", "failed", r"3 messages lost \(0 allowed\)"),
]


@pytest.mark.parametrize(
    ("what", "knobs", "engine", "verdict", "cause"), FAULTS, ids=[row[0] for row in FAULTS]
)
def test_a_fault_is_recorded_with_its_cause(
    laboratory: MakeLaboratory, what: str, knobs: str, engine: str, verdict: str, cause: str
) -> None:
    lab = laboratory(knobs=knobs, engine=engine)
    with Interruption() as interruption:
        assert run_block(lab.context(interruption), lab.plan.blocks[0]) is not None, what
    statuses = lab.statuses()
    assert set(statuses) == {cell.id for cell in lab.plan.cells}
    for status in statuses.values():
        assert status["verdict"] == verdict
        assert re.search(cause, status["cause"]), status["cause"]


def test_a_target_that_is_left_out_is_skipped_with_the_reason(laboratory: MakeLaboratory) -> None:
    lab = laboratory()
    with Interruption() as interruption:
        context = lab.context(interruption, left_out={"_fake/echo": "it lies"})
        run_block(context, lab.plan.blocks[0])
    assert {(status["verdict"], status["cause"]) for status in lab.statuses().values()} == {
        ("skipped", "it lies")
    }


def test_a_block_set_aside_keeps_what_it_had(laboratory: MakeLaboratory) -> None:
    lab = laboratory()
    for attempt in (1, 2):
        lab.directory.block(0).mkdir(parents=True)
        (lab.directory.block(0) / "word").write_text(str(attempt))
        aside = set_aside(lab.directory, 0)
        assert aside is not None
        assert aside.name == f"0.interrupted-{attempt}"
        assert (aside / "word").read_text() == str(attempt)
    assert set_aside(lab.directory, 0) is None
