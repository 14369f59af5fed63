"""From a run directory to its studies: which files of which cells belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from client_files import Message, stamps_content, trade

from feedbench.errors import FeedbenchError
from feedbench.paths import RunDirectory
from feedbench.pipeline.campaign import analyze_run, has_studies
from feedbench.plan import Plan, write_plan
from feedbench.planner import make_plan
from feedbench.target import Target
from planning import DELAY, make_registry, make_target, scenario_from

AT_MS = 1_600_000_000_000
SCENARIO = """\
schema = 1
name = "test"
title = "A test"
question = "Which is first?"
analysis = "None."
targets = ["*/*"]
reference = "python/a"
control = { target = "python/a", delay = "20us" }
[protocol]
blocks = 2
[feed]
design = "parallel"
[[feed.exchanges]]
personality = "binance"
path = "/ws"
[[feed.exchanges]]
name = "trades"
personality = "binance"
path = "/ws"
"""


def client(name: str) -> Target:
    return replace(
        make_target(name, models=("feed",), knobs=DELAY),
        roles=("client",),
        server_command=None,
        feed_client_command=("client",),
    )


def planned(text: str, folder: Path) -> Plan:
    registry = make_registry(client("python/a"), client("go/b"))
    return make_plan(scenario_from(text, folder, registry=registry), registry)


def recorded(plan: Plan, folder: Path) -> RunDirectory:
    """As if each cell of each block had received ten events; go/b a bit later, and copies much later."""
    run = RunDirectory(folder / "run")
    write_plan(run.plan, plan)
    for block in plan.blocks:
        for cell in plan.cells:
            feed = plan.condition(cell.condition).load.feed
            assert feed is not None
            age_ms = 500 if cell.copy else 9 if cell.target == "go/b" else 5
            messages: list[Message] = [
                (at + age_ms, trade(at, at))
                for at in range(AT_MS + block.index * 1000, AT_MS + block.index * 1000 + 10)
            ]
            place = run.cell(block.index, cell.id)
            place.mkdir(parents=True)
            (place / f"{cell.process}@{feed.exchange}.stamps").write_bytes(stamps_content(messages))
    return run


def test_blocks_are_put_together_and_copies_left_out(tmp_path: Path) -> None:
    plan = planned(SCENARIO, tmp_path)
    assert has_studies(plan)
    (result,) = analyze_run(recorded(plan, tmp_path))
    assert result.folder == tmp_path / "run" / "pipeline"
    exchanges = {exchange.exchange: exchange for exchange in result.study.exchanges}
    # An exchange's own name gets its personality's before it, where it does not tell.
    assert sorted(exchanges) == ["binance", "binance-trades"]
    for exchange in exchanges.values():
        assert [each.series.client for each in exchange.series] == ["go-b", "python-a"]
        for each in exchange.series:
            assert (each.account.connections, each.account.common) == (2, 20)
            # From the first to the last message of each block, not from block to block.
            assert each.account.duration_ms == 18
    scoring = result.study.scoring("whiskers")
    assert scoring is not None
    assert scoring.scores.places == {"python-a": 1, "go-b": 2}


def test_each_value_of_another_factor_has_a_study_of_its_own(tmp_path: Path) -> None:
    plan = planned(SCENARIO + "[factors]\nrate = [100, 1000]\n", tmp_path)
    results = analyze_run(recorded(plan, tmp_path))
    assert [result.folder.name for result in results] == ["rate=100", "rate=1000"]
    assert all(len(result.study.exchanges) == 2 for result in results)


def test_where_clients_had_a_time_of_their_own_there_is_nothing_in_common(tmp_path: Path) -> None:
    plan = planned(SCENARIO.replace('"parallel"', '"sliced"'), tmp_path)
    assert not has_studies(plan)
    with pytest.raises(FeedbenchError, match="no clients followed an exchange together"):
        analyze_run(recorded(plan, tmp_path))
