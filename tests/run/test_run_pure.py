"""The parts of a run that are thought alone: budget, request, verdict, environment, resources, ceiling,
record.
"""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laboratory import Laboratory, make_laboratory

from feedbench.errors import RunDirectoryError
from feedbench.host.pinning import Pinning
from feedbench.host.pressure import Pressure, other_work_share
from feedbench.host.shield import Shield
from feedbench.load import Burst, Constant, Load, Payload
from feedbench.paths import RunDirectory
from feedbench.protocol import Expect
from feedbench.run.budget import allows_another, time_left_ns
from feedbench.run.ceiling import Shape, shape, shapes
from feedbench.run.client_round import shuffled
from feedbench.run.environment import environment_document, surroundings_between
from feedbench.run.fleet import Fleet
from feedbench.run.offered import load_of
from feedbench.run.progress import Progress
from feedbench.run.record import RunRecord, read_record
from feedbench.run.request import connected_after_ns, deadline_ns, engine_request, round_seed
from feedbench.run.resources import TreeReading, Usage
from feedbench.run.status import judge_load

S = 1_000_000_000

BUDGETS = [
    ("without a budget there is always another", None, 900 * S, [10 * S], True),
    ("the first block is always allowed", 5 * S, 0, [], True),
    ("a block that would end within it", 30 * S, 20 * S, [10 * S], True),
    ("a block that would end beyond it", 30 * S, 20 * S + 1, [10 * S], False),
    ("the longest block so far is what counts", 30 * S, 15 * S, [5 * S, 16 * S], False),
]


@pytest.mark.parametrize(("what", "budget_ns", "spent_ns", "measured_ns", "allowed"), BUDGETS)
def test_budget(
    what: str, budget_ns: int | None, spent_ns: int, measured_ns: list[int], allowed: bool
) -> None:
    found = allows_another(budget_ns=budget_ns, spent_ns=spent_ns, measured_ns=measured_ns, planned_ns=7 * S)
    assert found is allowed, what


@given(
    budget_ns=st.none() | st.integers(0, 100 * S),
    measured_ns=st.lists(st.integers(1, 20 * S), max_size=5),
    blocks_left=st.integers(0, 20),
    within_ns=st.integers(0, 30 * S),
)
def test_the_time_left_is_never_negative_nor_beyond_the_budget(
    budget_ns: int | None, measured_ns: list[int], blocks_left: int, within_ns: int
) -> None:
    left_ns = time_left_ns(
        budget_ns=budget_ns,
        spent_ns=sum(measured_ns),
        measured_ns=measured_ns,
        planned_ns=S,
        blocks_left=blocks_left,
        within_ns=within_ns,
    )
    assert 0 <= left_ns <= (budget_ns if budget_ns is not None else 20 * 20 * S)


GOOD = {"verdict": "ok", "cause": None, "lost": 0, "duplicated": 0, "out_of_order": 0, "wrong": 0}

JUDGEMENTS: list[tuple[str, dict[str, Any], Expect, str, str | None]] = [
    ("all went well", {}, Expect(), "ok", None),
    ("a loss that is not allowed", {"lost": 2}, Expect(), "failed", "2 messages lost (0 allowed)"),
    ("a loss that is allowed", {"lost": 2}, Expect(lost=2), "ok", None),
    (
        "two things at once",
        {"wrong": 1, "out_of_order": 4},
        Expect(),
        "failed",
        "4 messages out of order (0 allowed), 1 messages wrong (0 allowed)",
    ),
    (
        "a rate that was missed",
        {"verdict": "missed_rate", "cause": "900 of 1000"},
        Expect(),
        "missed_rate",
        "900 of 1000",
    ),
    (
        "a wrong answer outweighs a missed rate",
        {"verdict": "missed_rate", "cause": "slow", "wrong": 1},
        Expect(),
        "failed",
        "1 messages wrong (0 allowed)",
    ),
    ("the engine's own verdict", {"verdict": "failed", "cause": "reset"}, Expect(), "failed", "reset"),
    (
        "a cell cut off by ^C",
        {"interrupted": True},
        Expect(),
        "skipped",
        "interrupted before it was measured whole",
    ),
    (
        "a verdict that nobody knows",
        {"verdict": "fine"},
        Expect(),
        "failed",
        "the engine gave the verdict 'fine'",
    ),
]


@pytest.mark.parametrize(
    ("what", "changes", "expect", "verdict", "cause"), JUDGEMENTS, ids=[r[0] for r in JUDGEMENTS]
)
def test_judgement(
    what: str, changes: dict[str, Any], expect: Expect, verdict: str, cause: str | None
) -> None:
    outcome = judge_load({**GOOD, **changes}, expect)
    assert outcome.verdict == verdict, what
    assert (outcome.cause or "").startswith(cause or "")
    assert (outcome.cause is None) == (verdict == "ok")


def request_of(lab: Laboratory, tmp_path: Path) -> dict[str, Any]:
    """Of the first round of the first block."""
    round_ = lab.plan.rounds[0]
    cells = [lab.plan.cell(name) for name in round_.cells]
    return engine_request(
        lab.plan,
        lab.plan.blocks[0],
        round_,
        loads={cell.id: load_of(lab.plan, cell, {}) for cell in cells},
        urls={cell.id: "ws://127.0.0.1:1/echo" for cell in cells},
        authorities={cell.id: tmp_path / "authority.pem" for cell in cells},
        folders={cell.id: tmp_path / "x" for cell in cells},
        cpu=1,
        root=tmp_path,
    )


def test_a_request_holds_what_the_plan_says(tmp_path: Path) -> None:
    lab = make_laboratory(tmp_path)
    request = request_of(lab, tmp_path)
    assert request["slice_ns"] == lab.plan.protocol.slice_ns
    assert [target["name"] for target in request["targets"]] == list(lab.plan.rounds[0].cells)
    assert request["targets"][0]["ca_file"] == str(tmp_path / "authority.pem")
    assert request["targets"][0]["pacer"] == {"kind": "closed", "in_flight": 1}
    assert request["targets"][0]["payload"] == {"kind": "binary", "bytes": 108, "file": None}
    assert "fragments" not in request["targets"][0]
    assert json.loads(json.dumps(request)) == request


def test_a_request_asks_for_fragments_where_the_load_does(tmp_path: Path) -> None:
    lab = make_laboratory(tmp_path)
    loads = [
        dataclasses.replace(one, load=dataclasses.replace(one.load, fragments=4, ping_between=True))
        for one in lab.plan.conditions
    ]
    lab.plan = dataclasses.replace(lab.plan, conditions=tuple(loads))
    asked = request_of(lab, tmp_path)["targets"][0]
    assert (asked["fragments"], asked["ping_between"]) == (4, True)


def test_every_round_of_a_block_has_a_seed_of_its_own(tmp_path: Path) -> None:
    lab = make_laboratory(tmp_path, blocks=3)
    seeds = {round_seed(block, round_) for block in lab.plan.blocks for round_ in lab.plan.rounds}
    assert len(seeds) == 3 * len(lab.plan.rounds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_memory_is_read_within_the_warm_up_or_not_at_all(tmp_path: Path) -> None:
    protocol = make_laboratory(tmp_path).plan.protocol
    at_ns = connected_after_ns(protocol, 4)
    assert at_ns is not None
    assert protocol.warmup_ns < at_ns < 4 * protocol.warmup_ns
    unsliced_ns = connected_after_ns(dataclasses.replace(protocol, slice_ns=None), 4)
    assert unsliced_ns is not None
    assert unsliced_ns < protocol.warmup_ns
    assert connected_after_ns(dataclasses.replace(protocol, warmup_ns=0), 4) is None


def test_the_deadline_leaves_room_for_the_planned_time(tmp_path: Path) -> None:
    plan = make_laboratory(tmp_path).plan
    assert deadline_ns(plan, plan.cells) > len(plan.cells) * (
        plan.protocol.warmup_ns + plan.protocol.measure_ns
    )


def reading(**values: int) -> TreeReading:
    usual = {field.name: 0 for field in dataclasses.fields(TreeReading)}
    return TreeReading(**{**usual, **values})


def test_resources_are_differences_and_memory_is_per_connection() -> None:
    usage = Usage(
        before=reading(at_ns=10, cpu_ns=100, run_delay_ns=5, rss_bytes=1_000, voluntary_switches=3),
        after=reading(
            at_ns=30, cpu_ns=400, run_delay_ns=9, rss_peak_bytes=9_000, voluntary_switches=7, threads=2
        ),
        rss_connected_bytes=4_200,
        connections=32,
    )
    document = usage.document()
    assert (document["cpu_ns"], document["run_delay_ns"], document["wall_ns"]) == (300, 4, 20)
    assert document["memory_per_connection_bytes"] == 100
    assert (document["voluntary_switches"], document["threads"], document["rss_peak_bytes"]) == (4, 2, 9_000)


def test_what_can_not_be_told_apart_is_null() -> None:
    shared = Usage(reading(), reading(cpu_ns=9), 4, connections=2, shared=True).document()
    assert (shared["cpu_ns"], shared["memory_per_connection_bytes"], shared["voluntary_switches"]) == (
        None,
        None,
        None,
    )
    single = Usage(reading(), reading(cpu_ns=9), 4, connections=1).document()
    assert (single["cpu_ns"], single["memory_per_connection_bytes"]) == (9, None)
    later = Usage(reading(), reading(cpu_ns=9), 4, connections=2, comparable=False).document()
    assert (later["cpu_ns"], later["memory_per_connection_bytes"]) == (9, None)


def test_memory_compares_only_in_a_process_that_carried_less_before(tmp_path: Path) -> None:
    lab = make_laboratory(tmp_path)
    fleet = Fleet(lab.plan, lab.registry, lab.project, lab.directory, block=0, cpus=())
    found = [fleet.comparable("a", connections) for connections in (4, 4, 2, 8, 8)]
    assert found == [False, False, False, True, False]
    assert not fleet.comparable("b", 1)


def pressure(at_ns: int, busy: dict[int, int]) -> Pressure:
    return Pressure(
        at_ns=at_ns, steal_ticks=0, total_ticks=0, busy_ticks=busy, psi_some_us=None, load_average_1m=0.0
    )


def test_other_work_is_what_the_run_did_not_use_itself() -> None:
    before, after = pressure(0, {0: 0, 1: 0, 2: 0}), pressure(S, {0: 100, 1: 50, 2: 100})
    share = other_work_share(before, after, cpus=[0, 1], own_cpu_ns=S)
    assert share == 0.25
    assert other_work_share(before, after, cpus=[0, 1], own_cpu_ns=9 * S) == 0.0
    assert other_work_share(before, after, cpus=[7], own_cpu_ns=0) == 0.0


def test_environment_says_how_long_targets_waited_of_the_time_they_were_driven() -> None:
    document = environment_document(
        block=3,
        round_id="all",
        surroundings=surroundings_between(
            pressure(0, {}), pressure(S, {}), other_work_share=0.25, cpus_awake=True
        ),
        engine_run_delay_ns=7,
        run_delays_ns={"a": 50, "b": -3},
        driven_ns={"a": 1_000, "b": 1_000},
        shield=Shield("autogroup −20", in_force=True),
        pinning=Pinning(targets=(0,), engine=(1,)),
    )
    assert document["target_run_delay_share"] == {"a": 0.05, "b": 0.0}
    assert document["pinned"] == {"targets": [0], "engine": [1]}
    assert (document["psi_cpu_some_share"], document["other_work_share"]) == (None, 0.25)


def load(**changes: Any) -> Load:
    usual: dict[str, Any] = {
        "pacer": Constant(1_000),
        "connections": 4,
        "path": "/echo",
        "payload": Payload("binary", bytes=108),
        "offer_deflate": False,
        "client": "engine",
        "transport": "epoll",
        "timeout_ns": S,
    }
    return Load(**{**usual, **changes})


def test_the_ceiling_of_a_paced_load_has_one_message_under_way(tmp_path: Path) -> None:
    assert shape(load(), root=tmp_path) == Shape(in_flight=1, bytes=108, connections=4)
    assert shape(load(pacer=Burst(messages=7, interval_ns=S)), root=tmp_path).in_flight == 7
    (tmp_path / "tick").write_bytes(b"12345")
    assert shape(load(payload=Payload("file", file="tick")), root=tmp_path).bytes == 5


def test_each_shape_is_measured_once_and_own_clients_have_none(tmp_path: Path) -> None:
    plan = make_laboratory(tmp_path).plan
    assert shapes(plan.conditions * 2, root=tmp_path) == (Shape(1, 108, 1), Shape(1, 108, 4))
    own = dataclasses.replace(
        plan.conditions[0], load=dataclasses.replace(plan.conditions[0].load, client="own")
    )
    assert shapes([own], root=tmp_path) == ()


def test_the_order_of_clients_changes_with_the_block() -> None:
    names = [f"cell-{number}" for number in range(8)]
    orders = {tuple(sorted(names, key=lambda name: shuffled(seed, name))) for seed in range(20)}
    assert len(orders) > 15


def test_a_record_survives_the_disk(tmp_path: Path) -> None:
    record = RunRecord(
        blocks_planned=3, blocks_done=(0, 2), stopped="budget", left_out={"a/b": "why"}, advice=("x",)
    )
    record.write(RunDirectory(tmp_path))
    assert read_record(RunDirectory(tmp_path)) == record


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1}', '{"schema": 99}', "[]"])
def test_a_damaged_record_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunDirectoryError, match=r"run\.json"):
        read_record(RunDirectory(tmp_path))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_renews_one_line_on_a_terminal() -> None:
    screen = Terminal()
    progress = Progress(screen, clock=lambda: 0)
    progress.show(block=1, blocks=3, doing="measuring something long", left_ns=61 * S)
    progress.show(block=2, blocks=3, doing="x", left_ns=-5)
    progress.note("done")
    shown = screen.getvalue()
    assert shown.count("\n") == 1
    assert "block 1/3 · measuring something long · 1 min 1 s left" in shown
    assert "block 2/3 · x · 0 ns left" in shown
    assert shown.endswith("done\n")


def test_progress_writes_a_line_every_five_seconds_into_a_log() -> None:
    log, now = io.StringIO(), [0]
    progress = Progress(log, clock=lambda: now[0])
    for second in range(11):
        now[0] = second * S
        progress.show(block=1, blocks=1, doing="measuring", left_ns=S)
    assert len(log.getvalue().splitlines()) == 3
