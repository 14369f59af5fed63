"""Plans: read back as they were written, and the shape of the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from feedbench.document import SPEC
from feedbench.errors import RunDirectoryError
from feedbench.load import CapacityShare, Poisson
from feedbench.plan import Plan, read_plan, write_plan
from feedbench.plan_text import describe
from feedbench.planner import make_plan
from feedbench.registry import State
from planning import MINIMAL, scenario_from, usual_registry

UPDATE = "FEEDBENCH_UPDATE_GOLDEN"  # set it to 1 to accept what is planned now

RICH = (
    MINIMAL.replace('"c/floor", "node/ws"', '"c/floor", "node/ws", "python/*", "rust/plain"')
    + """\
exclude = [{ target = "python/websockets", reason = "measured elsewhere" }]
reference = "node/ws"
budget = "1m"
[control]
target = "c/floor"
delay = "5us"
[protocol]
blocks = 3
[factors]
connections = [1, 32]
deflate = ["default", "off"]
client = ["engine", "own"]
"""
)


def rich_plan(tmp_path: Path) -> Plan:
    registry = usual_registry({"rust/plain": State("missing", "cargo is not on PATH (rustup.rs)", None)})
    return make_plan(scenario_from(RICH, tmp_path, registry=registry), registry)


def plan_with_shares(tmp_path: Path) -> Plan:
    text = MINIMAL + '[load]\npacer = "poisson"\n[factors]\nrate = ["50%", "12.5%", 1000]\n'
    registry = usual_registry()
    return make_plan(scenario_from(text, tmp_path, registry=registry), registry)


def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    plan = rich_plan(tmp_path)
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


def test_the_file_is_as_the_schema_says(tmp_path: Path) -> None:
    schema = json.loads((SPEC / "plan.schema.json").read_text(encoding="utf-8"))
    for plan in (rich_plan(tmp_path), plan_with_shares(tmp_path)):
        jsonschema.validate(json.loads(json.dumps(plan.to_json())), schema)


def test_a_rate_may_be_a_share_of_what_each_target_takes(tmp_path: Path) -> None:
    plan = plan_with_shares(tmp_path)
    assert [condition.load.pacer for condition in plan.conditions] == [
        CapacityShare("poisson", 0.5),
        CapacityShare("poisson", 0.125),
        Poisson(1000),
    ]
    assert [condition.id for condition in plan.conditions] == [
        "rate=50-percent",
        "rate=12.5-percent",
        "rate=1000",
    ]
    assert "driven to its limit" in describe(plan)
    assert "driven to its limit" not in describe(rich_plan(tmp_path))
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda text: text[: len(text) // 2], "not whole JSON"),
        (lambda text: text.replace('"schema": 1', '"schema": 9'), "schema 9"),
        (lambda text: text.replace('"estimate_ns"', '"estimate"'), "not a plan"),
        (lambda text: text.replace('"kind": "closed"', '"kind": "open"'), "not a plan"),
        (lambda text: "[]", "not a plan"),
    ],
    ids=["cut short", "of the future", "without a key", "with an unknown pacer", "of another kind"],
)
def test_a_damaged_plan_is_refused_in_one_line(tmp_path: Path, damage, what: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "plan.json"
    write_plan(path, rich_plan(tmp_path))
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=what) as refused:
        read_plan(path)
    assert str(path) in str(refused.value)


def test_the_plan_and_its_words_are_the_golden_ones(tmp_path: Path) -> None:
    plan = rich_plan(tmp_path)
    found = {
        "plan-rich.json": json.dumps(plan.to_json(), indent=1, ensure_ascii=False) + "\n",
        "plan-rich.txt": describe(plan) + "\n",
    }
    for name, text in found.items():
        golden = Path(__file__).parent / "golden" / name
        if os.environ.get(UPDATE):
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8"), f"set {UPDATE}=1 if the new one is meant"
