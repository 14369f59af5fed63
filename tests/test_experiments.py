"""The experiments that take the studies' defects apart can be planned, and stand where the studies say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.papers import read_paper
from feedbench.paths import Project
from feedbench.plan import Plan
from feedbench.planner import make_plan
from feedbench.registry import Registry, State, discover
from feedbench.scenario import read_scenario

ROOT = Path(__file__).parents[1]
EXPERIMENTS = sorted((ROOT / "scenarios" / "experiments").glob("*.toml"))


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
