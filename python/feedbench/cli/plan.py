"""`feedbench plan`: what a scenario would do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from feedbench.cli.cluster_options import AGENTS, APART, CLUSTER, TLS, check_apart, cluster_order
from feedbench.cli.common import JSON, say
from feedbench.paths import Project, RunDirectory
from feedbench.plan import write_plan
from feedbench.plan_text import describe
from feedbench.planner import make_plan
from feedbench.registry import discover
from feedbench.run.prepare import cluster_plan
from feedbench.scenario import read_scenario


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def plan(
        scenario: Annotated[
            Path, typer.Argument(metavar="SCENARIO", help="A scenario file, like scenarios/quick.toml.")
        ],
        as_json: JSON = False,
        seed: Annotated[
            int | None,
            typer.Option(min=0, help="For the random orders, instead of the scenario's.", show_default=False),
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option(metavar="DIR", help="Write plan.json and scenario.toml there.", show_default=False),
        ] = None,
        cluster: CLUSTER = None,
        tls: TLS = None,
        apart: APART = False,
        agents: AGENTS = 1,
    ) -> None:
        """Show what a scenario would run, how long it takes, and what is left out and why.

        Nothing is started and, without --out, nothing is written.
        """
        project = Project.find()
        registry = discover(project)
        read = read_scenario(scenario, registry=registry, root=project.root)
        order = cluster_order(cluster, tls, apart=apart, agents=agents)
        check_apart(read, order)
        if order is None:
            made = make_plan(read, registry, seed=seed)
        else:
            made, _ = cluster_plan(read, registry, order, seed=seed)
        if out is not None:
            directory = RunDirectory(out)
            write_plan(directory.plan, made)
            directory.scenario.write_bytes(scenario.read_bytes())
            say(f"wrote {directory.plan}")
        if as_json:
            print(json.dumps(made.to_json(), indent=1, ensure_ascii=False))
        else:
            print(describe(made))
