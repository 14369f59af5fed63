"""What is to be played: the house's campaign, the study's environment variables, and bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.errors import FeedbenchError, ScenarioError
from feedbench.paths import Project, write_json
from feedbench.ramp.campaign import (
    Campaign,
    campaign_from_json,
    read_campaign,
    with_environment,
    with_targets,
)
from planning import make_registry, make_target

TOMASETTI = Project.find(Path(__file__).parent).scenarios / "papers" / "tomasetti.toml"


@pytest.fixture
def campaign() -> Campaign:
    return read_campaign(TOMASETTI)


def test_the_study_is_played_with_its_own_numbers(campaign: Campaign) -> None:
    rounds = campaign.rounds
    assert (rounds.rounds, rounds.add, rounds.requests, campaign.repeats) == (100, 100, 100, 3)
    assert rounds.connections == 10_000
    assert rounds.total_requests == 50_500_000  # the paper says 5.5 million
    nearest = {"csharp/httplistener"}
    assert len(set(campaign.targets) - nearest) == 9 + 2
    assert "--heartbeat=5000000000ns" in rounds.arguments()


def test_a_run_directory_holds_the_whole_campaign(campaign: Campaign, tmp_path: Path) -> None:
    write_json(tmp_path / "ramp.json", campaign.to_json())
    assert campaign_from_json(tmp_path / "ramp.json") == campaign


def test_each_repeat_has_its_own_order_and_always_the_same(campaign: Campaign) -> None:
    orders = [campaign.order(repeat) for repeat in (1, 2, 3)]
    assert all(sorted(order) == sorted(campaign.targets) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    assert campaign.order(2) == orders[1]


def test_the_studys_variables_change_what_they_name(campaign: Campaign) -> None:
    variables = {"ADD_CONNECTIONS": "7", "REQUESTS": "50", "ROUNDS": "25", "BENCHMARK_LANGUAGE": "Go"}
    changed = with_environment(campaign, variables)
    assert (changed.rounds.add, changed.rounds.requests, changed.rounds.rounds) == (7, 50, 25)
    assert changed.elsewhere is None
    there = with_environment(campaign, {"WEBSOCKET_ADDRESS": "10.0.0.2", "BENCHMARK_LANGUAGE": "Go"})
    assert (there.elsewhere, there.targets) == ("ws://10.0.0.2:8080/", ("Go",))
    assert with_environment(campaign, {"WEBSOCKET_PORT": "81"}).elsewhere == "ws://127.0.0.1:81/"
    assert with_environment(campaign, {"ROUNDS": ""}) == campaign


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ROUNDS", "0"),
        ("ROUNDS", "ten"),
        ("REQUESTS", "-1"),
        ("ADD_CONNECTIONS", "1.5"),
        ("WEBSOCKET_PORT", "99999"),
    ],
)
def test_a_bad_variable_is_named(campaign: Campaign, variable: str, value: str) -> None:
    with pytest.raises(FeedbenchError, match=variable):
        with_environment(campaign, {variable: value})


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("rounds = 100", "round = 100", 'unknown key "round"'),
        ("rounds = 100", "rounds = 0", "must be 1 or more"),
        ('quiet = "20s"', "quiet = 20", "not a duration"),
        ("nearly_all = 0.9", "nearly_all = 1.9", "must be 1 or less"),
        ('"go/gorilla",', '"gorilla",', "not a target's name"),
    ],
)
def test_a_bad_campaign_is_refused_with_its_line(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    text = TOMASETTI.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FeedbenchError, match=complaint) as caught:
        read_campaign(path)
    assert f"{path}:" in str(caught.value)


def test_globs_stand_for_the_servers_of_stamps(tmp_path: Path) -> None:
    registry = make_registry(
        make_target("go/one"), make_target("go/echo-only", models=("echo",)), make_target("c/two")
    )
    campaign = replace(read_campaign(TOMASETTI), targets=("c/two", "go/*", "*/*", "php/unknown"))
    assert with_targets(campaign, registry).targets == ("c/two", "go/one", "php/unknown")
    with pytest.raises(ScenarioError, match='no server of stamps matches "rust/'):
        with_targets(replace(campaign, targets=("rust/*",)), registry)


def test_the_ramps_that_come_along_can_be_read() -> None:
    scenarios = TOMASETTI.parents[1]
    ramp = read_campaign(scenarios / "servers" / "ramp.toml")
    assert ramp.rounds.connections == 10_000
    assert ramp.rounds.total_requests == 2_100_000
