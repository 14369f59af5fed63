"""Planning: what is measured against what, for scenarios told in a line, and what holds for any scenario."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from feedbench.plan import Plan, Skipped
from feedbench.planner import make_plan
from feedbench.registry import Registry, State
from planning import DELAY, MINIMAL, make_registry, make_target, scenario_from, usual_registry

CONTROL = '[control]\ntarget = "c/floor"\ndelay = "5us"\n'


def plan_of(
    more: str,
    *,
    targets: str = '"c/floor", "node/ws"',
    registry: Registry | None = None,
    seed: int | None = None,
) -> Plan:
    known = registry or usual_registry()
    text = MINIMAL.replace('"c/floor", "node/ws"', targets) + more
    with tempfile.TemporaryDirectory() as folder:
        return make_plan(scenario_from(text, Path(folder), registry=known), known, seed=seed)


def test_targets_are_compared_in_one_round_for_each_load() -> None:
    plan = plan_of('reference = "node/ws"\n' + CONTROL + "[factors]\nconnections = [1, 32]\n")
    assert [process.id for process in plan.processes] == [
        "c-floor",
        "node-ws",
        "node-ws~sentinel",
        "c-floor~control",
    ]
    assert plan.process("c-floor~control").knobs == {"delay_ns": "5000"}
    assert [entry.id for entry in plan.rounds] == ["connections=1", "connections=32"]
    question = plan.questions[1]
    assert question.cells == ("c-floor+connections=32", "node-ws+connections=32")
    assert question.sentinel == ("node-ws+connections=32", "node-ws~sentinel+connections=32")
    assert question.control == ("c-floor+connections=32", "c-floor~control+connections=32")
    assert plan.condition("connections=32").load.connections == 32
    assert all(process.host == plan.hosts[0].name for process in plan.processes)


def test_without_factors_there_is_one_condition_called_all() -> None:
    plan = plan_of("")
    assert [condition.id for condition in plan.conditions] == ["all"]
    assert [question.id for question in plan.questions] == ["all"]
    assert plan.questions[0].control is None


def test_a_compared_payload_is_sliced_within_one_round_and_asked_of_each_target() -> None:
    plan = plan_of('compare = "payload"\n[factors]\npayload = ["text:37", "binary:108"]\n')
    assert [entry.id for entry in plan.rounds] == ["all"]
    assert [question.id for question in plan.questions] == ["target=c-floor", "target=node-ws"]
    assert plan.questions[1].cells == ("node-ws+payload=text:37", "node-ws+payload=binary:108")


def test_what_belongs_to_a_whole_round_is_compared_across_rounds() -> None:
    plan = plan_of('compare = "cpus_awake"\n[factors]\ncpus_awake = [true, false]\n')
    assert [(entry.id, entry.cpus_awake) for entry in plan.rounds] == [
        ("cpus_awake=true", True),
        ("cpus_awake=false", False),
    ]
    assert plan.questions[0].cells == ("c-floor+cpus_awake=true", "c-floor+cpus_awake=false")


def test_a_compared_knob_makes_processes_and_the_control_may_lack_it() -> None:
    more = 'compare = "log_messages"\n' + CONTROL + "[factors]\nlog_messages = [false, true]\n"
    plan = plan_of(more, targets='"node/ws", "python/websockets"')
    assert [process.id for process in plan.processes] == [
        "node-ws",
        "node-ws~log_messages=true",
        "python-websockets",
        "python-websockets~log_messages=true",
        "c-floor",
        "node-ws~sentinel",
        "c-floor~control",
    ]
    assert plan.process("node-ws~sentinel").knobs == {"log_messages": "false"}
    assert plan.process("c-floor").knobs == {}
    question = plan.questions[0]
    assert question.cells == ("node-ws+all", "node-ws~log_messages=true+all")
    assert question.control == ("c-floor+all", "c-floor~control+all")
    assert not plan.skipped


def test_default_and_the_defaults_own_value_are_two_processes() -> None:
    plan = plan_of(
        '[factors]\ndeflate = ["default", "off"]\n', targets='"node/ws", "python/websockets", "rust/plain"'
    )
    knobs = {process.id: dict(process.knobs) for process in plan.processes if process.copy is None}
    assert knobs == {
        "node-ws": {},
        "node-ws~deflate=off": {"deflate": "off"},
        "python-websockets": {},
        "python-websockets~deflate=off": {"deflate": "off"},
        # It has no such knob, but its options say that it is built so.
        "rust-plain": {},
        "rust-plain~deflate=off": {},
    }


@pytest.mark.parametrize(
    ("more", "targets", "state", "skipped"),
    [
        (
            "",
            '"c/floor", "rust/plain"',
            State("missing", "cargo is not on PATH (rustup.rs)", None),
            [Skipped(None, "rust/plain", "cargo is not on PATH (rustup.rs)")],
        ),
        (
            "",
            '"c/floor", "rust/plain"',
            State("failed", "cargo ended with status 101", None),
            [Skipped(None, "rust/plain", "cargo ended with status 101")],
        ),
        (
            '[load]\npath = "/stamp"\npayload = "stamp"\n',
            '"c/floor", "rust/plain"',
            State("built", None, "1"),
            [Skipped("rust-plain+all", "rust/plain", "it does not serve /stamp")],
        ),
        (
            '[load]\nclient = "own"\n',
            '"python/tornado", "rust/plain"',
            State("built", None, "1"),
            [Skipped("rust-plain+all", "rust/plain", "it has no echo client of its own")],
        ),
        (
            "[knobs]\nlog_messages = true\n[factors]\ndeflate = ['off', 'on']\n",
            '"python/tornado", "rust/plain"',
            State("built", None, "1"),
            [Skipped(None, "rust/plain", "with deflate = on: it has no knob deflate")],
        ),
        (
            'exclude = [{ target = "rust/*", reason = "too young" }]\n',
            '"c/floor", "rust/plain"',
            State("built", None, "1"),
            [Skipped(None, "rust/plain", "excluded: too young")],
        ),
        (
            '[control]\ntarget = "rust/plain"\ndelay = "5us"\n',
            '"c/floor", "rust/plain"',
            State("built", None, "1"),
            [Skipped(None, "rust/plain", "as control, with delay_ns = 5000: it has no knob delay_ns")],
        ),
    ],
    ids=["no tool", "no build", "no such model", "no client", "no knob", "excluded", "no delay"],
)
def test_what_cannot_be_done_is_left_out_with_its_reason(
    more: str, targets: str, state: State, skipped: Sequence[Skipped]
) -> None:
    plan = plan_of(more, targets=targets, registry=usual_registry({"rust/plain": state}))
    assert list(plan.skipped) == skipped
    assert plan.cells


def test_a_target_on_hold_is_left_out() -> None:
    registry = make_registry(make_target("c/floor", knobs=DELAY), make_target("node/ws", status="on-hold"))
    assert plan_of("", registry=registry).skipped == (
        Skipped(None, "node/ws", "on hold: it is broken upstream"),
    )


def test_the_client_of_another_target_must_be_usable() -> None:
    registry = usual_registry({"python/tornado": State("missing", "no python3", None)})
    plan = plan_of('[load]\nclient = "python/tornado"\n', registry=registry)
    assert not plan.cells
    assert {skipped.reason for skipped in plan.skipped} == {
        "its client python/tornado cannot be used: no python3"
    }
    assert plan_of('[load]\nclient = "python/tornado"\n').targets == ("c/floor", "node/ws", "python/tornado")


FACTORS = {
    "connections": some.lists(some.integers(1, 64), min_size=1, max_size=3, unique=True),
    "payload": some.lists(some.sampled_from(["text:37", "binary:108", "json:64"]), min_size=1, unique=True),
    "cpus_awake": some.just([True, False]),
    "client": some.lists(some.sampled_from(["engine", "own"]), min_size=1, unique=True),
    "deflate": some.lists(some.sampled_from(["default", "off", "on"]), min_size=1, unique=True),
    "log_messages": some.lists(some.booleans(), min_size=1, unique=True),
}


@some.composite
def plans(draw: some.DrawFn) -> tuple[str, int]:
    """A scenario's further lines, and a seed."""
    names = draw(some.lists(some.sampled_from(sorted(FACTORS)), max_size=3, unique=True))
    values = {name: draw(FACTORS[name]) for name in names}
    compare = draw(some.sampled_from(["target", *names]))
    lines = [
        f'compare = "{compare}"',
        CONTROL,
        "[protocol]",
        f"blocks = {draw(some.integers(1, 6))}",
        "[factors]",
    ]
    lines += [
        f"{name} = {str(value).replace('True', 'true').replace('False', 'false')}"
        for name, value in values.items()
    ]
    return "\n".join(lines) + "\n", draw(some.integers(0, 2**32))


ALL = '"node/ws", "python/*", "rust/plain"'


@settings(max_examples=40, deadline=None)
@given(plans())
def test_whatever_is_asked_the_plan_is_whole(case: tuple[str, int]) -> None:
    more, seed = case
    plan = plan_of(more, targets=ALL, seed=seed)
    assert plan == plan_of(more, targets=ALL, seed=seed), "the same seed gives the same plan"
    for named in (plan.processes, plan.conditions, plan.cells, plan.rounds, plan.questions):
        ids = [entry.id for entry in named]
        assert len(set(ids)) == len(ids), "ids are unique"
        assert not any("/" in one for one in ids), "ids name folders"
    in_rounds = Counter(cell for entry in plan.rounds for cell in entry.cells)
    assert in_rounds == Counter(cell.id for cell in plan.cells), "every cell is in exactly one round"
    for cell in plan.cells:
        assert cell.id == f"{cell.process}+{cell.condition}"
        assert plan.process(cell.process).target == cell.target
    for entry in plan.rounds:
        conditions = [plan.condition(plan.cell(cell).condition) for cell in entry.cells]
        assert {(one.cpus_awake, one.load.client) for one in conditions} == {(entry.cpus_awake, entry.client)}
        copies = {plan.cell(cell).copy for cell in entry.cells}
        if entry.client == "engine":
            assert copies == {None, "sentinel", "control"}, "sentinel and control are in every round"
    for block in plan.blocks:
        assert sorted(block.start_order) == sorted(process.id for process in plan.processes)
        assert sorted(block.round_order) == sorted(entry.id for entry in plan.rounds)
    for question in plan.questions:
        rounds = {entry.id for entry in plan.rounds if set(entry.cells) & set(question.cells)}
        for pair in (question.sentinel, question.control):
            if pair is not None:
                homes = [next(entry.id for entry in plan.rounds if cell in entry.cells) for cell in pair]
                assert homes[0] == homes[1], "a pair is measured side by side"
                assert homes[0] in rounds, "and in a round of the question"
    asked = [cell for question in plan.questions for cell in question.cells]
    ranked = [cell.id for cell in plan.cells if cell.copy is None and cell.target != "c/floor"]
    assert sorted(asked) == sorted(ranked), "each cell is asked for once, but for the control's original"
    assert all(skipped.reason for skipped in plan.skipped)


@settings(max_examples=20, deadline=None)
@given(some.integers(0, 2**32), some.integers(1, 8))
def test_a_longer_run_begins_with_the_blocks_of_a_shorter_one(seed: int, blocks: int) -> None:
    short = plan_of(f"[protocol]\nblocks = {blocks}\n", seed=seed)
    long = plan_of(f"[protocol]\nblocks = {blocks + 3}\n", seed=seed)
    assert long.blocks[:blocks] == short.blocks


def test_orders_differ_between_blocks_and_seeds() -> None:
    more = "[protocol]\nblocks = 20\n"
    first, second = plan_of(more, targets=ALL, seed=1), plan_of(more, targets=ALL, seed=2)
    assert len({block.start_order for block in first.blocks}) > 10
    assert first.blocks != second.blocks
    assert len({block.seed for block in (*first.blocks, *second.blocks)}) == 40


def test_the_estimate_counts_warm_up_measuring_and_starting() -> None:
    one = plan_of('[protocol]\nblocks = 1\nwarmup = "1s"\nmeasure = "2s"\n')
    assert one.estimate_ns > len(one.cells) * 3_000_000_000
    ten = plan_of('[protocol]\nblocks = 10\nwarmup = "1s"\nmeasure = "2s"\n')
    assert ten.estimate_ns == 10 * one.estimate_ns


def test_where_sentinel_or_control_is_not_here_another_target_stands_in() -> None:
    registry = make_registry(
        make_target("c/floor", knobs=DELAY),
        make_target("node/ws"),
        make_target("go/gorilla", knobs=DELAY),
        states={
            "c/floor": State("missing", "no C compiler", None),
            "node/ws": State("missing", "no node", None),
        },
    )
    plan = plan_of(
        'reference = "node/ws"\n' + CONTROL,
        targets='"c/floor", "node/ws", "go/gorilla"',
        registry=registry,
    )
    assert plan.questions[0].sentinel == ("go-gorilla+all", "go-gorilla~sentinel+all")
    assert plan.questions[0].control == ("go-gorilla+all", "go-gorilla~control+all")
    assert (
        Skipped(None, "node/ws", "not here, so the sentinel is a copy of go/gorilla instead") in plan.skipped
    )
