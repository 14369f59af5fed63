"""The experiments that take the studies' defects apart can be planned, and stand where the studies say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.doors.campaign import is_doors, read_doors
from feedbench.papers import read_paper
from feedbench.paths import Project
from feedbench.plan import Plan
from feedbench.planner import make_plan
from feedbench.registry import Registry, State, discover
from feedbench.scenario import read_scenario

ROOT = Path(__file__).parents[1]
EVERY = sorted((ROOT / "scenarios" / "experiments").glob("*.toml"))
THROUGH_DOORS = [path for path in EVERY if is_doors(path)]
EXPERIMENTS = [path for path in EVERY if path not in THROUGH_DOORS]


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The checkout's targets, as on a machine where everything was built."""
    found = discover(Project(ROOT), probe=lambda _: None)
    return replace(found, states=dict.fromkeys(found.states, State("built", None, "1")))


def planned(path: Path, registry: Registry) -> Plan:
    return make_plan(read_scenario(path, registry=registry, root=ROOT), registry)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=[path.stem for path in EXPERIMENTS])
def test_every_question_of_an_experiment_can_be_decided(path: Path, registry: Registry) -> None:
    """It has cells to compare, and a sentinel and a control that vouch for it."""
    plan = planned(path, registry)
    assert plan.scenario == path.stem
    assert plan.questions
    for question in plan.questions:
        assert len(question.cells) > 1, question.id
        assert question.sentinel is not None, question.id
        assert question.control is not None, question.id


@pytest.mark.parametrize("path", THROUGH_DOORS, ids=[path.stem for path in THROUGH_DOORS])
def test_experiments_through_doors_can_be_read_and_lie_on_no_fixed_port(path: Path) -> None:
    doors = read_doors(path)
    assert doors.name == path.stem
    assert doors.fix_port == 0, "two runs on one machine would collide"
    assert "What it can't say" in doors.analysis


@pytest.mark.parametrize("number", range(1, 12))
def test_each_of_the_eleven_experiments_has_its_scenario(number: int) -> None:
    """E5, the clock that is read while waiting, stands among the feed clients' under another number."""
    wanted = {5: "e13-stamp-before"}.get(number, f"e{number}-")
    assert [path.stem for path in EVERY if path.stem.startswith(wanted)] != []


@pytest.mark.parametrize("path", sorted((ROOT / "papers").glob("*.toml")), ids=lambda path: path.stem)
def test_the_experiments_that_a_study_names_are_there(path: Path) -> None:
    named = [defect.experiment for defect in read_paper(path).defects if defect.experiment]
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_matrix_crosses_every_client_with_every_server(registry: Registry) -> None:
    plan = planned(ROOT / "scenarios" / "experiments" / "e8-matrix.toml", registry)
    pairings = {
        (plan.condition(plan.cell(cell).condition).load.client, plan.cell(cell).target)
        for question in plan.questions
        for cell in question.cells
    }
    clients, servers = {client for client, _ in pairings}, {server for _, server in pairings}
    assert "engine" in clients
    assert servers < clients, "each library stands on both sides"
    assert len(pairings) == len(clients) * len(servers)
