"""A small project with only the fake target and a fake engine, and runs planned in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedbench.host.pinning import choose_pinning
from feedbench.host.shield import NOT_ASKED
from feedbench.paths import Project, RunDirectory
from feedbench.plan import Plan, write_plan
from feedbench.planner import make_plan
from feedbench.registry import Registry, discover
from feedbench.run.context import Context
from feedbench.run.interruption import Interruption
from feedbench.run.record import RunRecord
from feedbench.scenario import read_scenario

CHECKOUT = Path(__file__).resolve().parents[2]
FAKE_ENGINE = Path(__file__).with_name("fake_engine.py")

SCENARIO = """
schema = 1
name = "fake"
title = "Fake"
question = "Does it run?"
analysis = "Nothing."
targets = ["_fake/echo"]
reference = "_fake/echo"

[protocol]
blocks = {blocks}
warmup = "{warmup}"
measure = "50ms"
shield = false
cpus_awake = false

[load]
client = "{client}"

[knobs]
{knobs}

[factors]
connections = [1, 4]
"""


@dataclass
class Laboratory:
    """One planned run and all that is needed to carry it out."""

    project: Project
    registry: Registry
    directory: RunDirectory
    plan: Plan
    said: list[str] = field(default_factory=list)

    def context(self, interruption: Interruption, **changes: Any) -> Context:
        usual: dict[str, Any] = {
            "plan": self.plan,
            "registry": self.registry,
            "project": self.project,
            "directory": self.directory,
            "pinning": choose_pinning(),
            "shield": NOT_ASKED,
            "interruption": interruption,
            "left_out": {},
            "told": self.said.append,
            "tick": lambda: None,
            "cpus_allowed": (0,),
            "ready_deadline_s": 1.5,
        }
        return Context(**{**usual, **changes})

    def statuses(self, block: int = 0) -> dict[str, dict[str, Any]]:
        """status.json of every cell of a block, by cell id."""
        found = sorted(self.directory.block(block).glob("*/status.json"))
        return {path.parent.name: json.loads(path.read_text()) for path in found}


def make_laboratory(
    folder: Path,
    *,
    blocks: int = 1,
    knobs: str = "",
    client: str = "engine",
    warmup: str = "60ms",
    runs: Path | None = None,
) -> Laboratory:
    """A run below `folder` (or `runs`) of a project that holds only the fake target."""
    root = folder / "project"
    (root / "targets" / "_fake").mkdir(parents=True, exist_ok=True)
    for link in ("targets/_fake/echo", "spec"):
        if not (root / link).exists():
            (root / link).symlink_to(CHECKOUT / link)
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO.format(blocks=blocks, knobs=knobs, client=client, warmup=warmup))
    project = Project(root)
    registry = discover(project)
    plan = make_plan(read_scenario(scenario, registry=registry, root=root), registry)
    directory = RunDirectory((runs or folder) / "run")
    write_plan(directory.plan, plan)
    RunRecord(blocks_planned=len(plan.blocks)).write(directory)
    return Laboratory(project, registry, directory, plan)


MakeLaboratory = Callable[..., Laboratory]
