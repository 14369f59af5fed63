"""Which targets each block holds: balanced after every block, the same for a longer run, vouchers always."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, islice
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from feedbench.block_design import choose
from feedbench.plan import Plan
from feedbench.planner import make_plan
from planning import DELAY, MINIMAL, make_registry, make_target, scenario_from

NAMES = [f"go/t{index}" for index in range(12)]
SCENARIO = (
    MINIMAL.replace('"c/floor", "node/ws"', '"*/*"')
    + 'reference = "node/ws"\n[control]\ntarget = "c/floor"\ndelay = "5us"\n'
    + "[factors]\nconnections = [1, 32]\n[protocol]\n"
)
REGISTRY = make_registry(
    make_target("c/floor", knobs=DELAY), make_target("node/ws"), *(make_target(name) for name in NAMES)
)
ALWAYS = {"node-ws", "node-ws~sentinel", "c-floor", "c-floor~control"}


def plan_of(protocol: str, folder: Path) -> Plan:
    return make_plan(scenario_from(SCENARIO + protocol, folder, registry=REGISTRY), REGISTRY)


@settings(max_examples=25, deadline=None)
@given(some.integers(2, 14), some.data(), some.integers(1, 12), some.integers(0, 2**32))
def test_nobody_is_chosen_twice_more_often_than_another(
    count: int, data: some.DataObject, blocks: int, seed: int
) -> None:
    names = [f"t{index}" for index in range(count)]
    size = data.draw(some.integers(1, count))
    times = Counter(dict.fromkeys(names, 0))
    for block in islice(choose(names, size, seed=seed), blocks):
        assert len(set(block)) == size
        times.update(block)
        assert max(times.values()) - min(times.values()) <= 1


def test_pairs_meet_about_equally_often() -> None:
    names = [f"t{index}" for index in range(20)]
    meetings = Counter(dict.fromkeys(combinations(names, 2), 0))
    for block in islice(choose(names, 5, seed=1), 76):  # 4 meetings a pair on average
        meetings.update(pair for pair in meetings if set(pair) <= set(block))
    assert sum(meetings.values()) == 4 * len(meetings)
    assert max(meetings.values()) <= 7
    assert min(meetings.values()) >= 2


def test_each_block_holds_the_vouchers_and_so_many_others(tmp_path: Path) -> None:
    plan = plan_of("blocks = 12\nper_block = 3\n", tmp_path)
    for block in plan.blocks:
        assert set(block.start_order) > ALWAYS
        assert len(block.start_order) == len(ALWAYS) + 3
        assert set(block.round_order) == {"connections=1", "connections=32"}
    times = Counter(name for block in plan.blocks for name in block.start_order)
    assert {times[name.replace("/", "-")] for name in NAMES} == {3}
    assert plan.blocks_with("node-ws") == frozenset(range(12))


def test_a_longer_run_begins_with_the_blocks_of_a_shorter_one(tmp_path: Path) -> None:
    short, long = (plan_of(f"blocks = {count}\nper_block = 3\n", tmp_path) for count in (5, 9))
    assert long.blocks[:5] == short.blocks


def test_where_all_fit_nothing_changes(tmp_path: Path) -> None:
    every, roomy = (plan_of(text, tmp_path) for text in ("blocks = 4\n", "blocks = 4\nper_block = 99\n"))
    assert roomy.blocks == every.blocks
    assert len(every.blocks[0].start_order) == len(ALWAYS) + len(NAMES)


def test_the_estimate_counts_what_is_started(tmp_path: Path) -> None:
    every, few = (plan_of(text, tmp_path) for text in ("blocks = 4\n", "blocks = 4\nper_block = 4\n"))
    assert few.estimate_ns < every.estimate_ns * 0.6
