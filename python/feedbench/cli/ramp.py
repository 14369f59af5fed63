"""`feedbench ramp`: a ramp campaign, from its file to its figures."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from feedbench.builder import build_targets
from feedbench.cli.common import say
from feedbench.document import TomlDocument
from feedbench.errors import FeedbenchError, RunDirectoryError, ScenarioError
from feedbench.host.facts import read_facts
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project, RunDirectory, write_json
from feedbench.ramp.campaign import (
    FOLDER,
    Campaign,
    campaign_from_json,
    read_campaign,
    with_environment,
    with_targets,
)
from feedbench.ramp.play import Place, play
from feedbench.receipt import write_receipt
from feedbench.registry import Registry, discover

RECORD = "ramp.json"


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("ramp", short_help="Add connections round by round until servers break.")(ramp)


def ramp(
    what: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE | RUN_DIR",
            help="A campaign, or the directory of one. Default: scenarios/papers/tomasetti.toml.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where a new run goes. Default: runs/TIME-NAME.", show_default=False
        ),
    ] = None,
) -> None:
    """Play a ramp campaign: build, start each server afresh, add connections round by round, draw.

    Reads the study's variables ADD_CONNECTIONS, REQUESTS, ROUNDS, WEBSOCKET_ADDRESS, WEBSOCKET_PORT,
    BENCHMARK_LANGUAGE and BENCHMARK_FOLDER. ^C ends it with what it has; `feedbench ramp RUN_DIR` goes on.
    """
    play_campaign(what, out, Project.find())


def is_campaign(path: Path) -> bool:
    """Whether it is a ramp's file, or the directory of one: `feedbench run` hands these over."""
    if path.is_dir():
        return (path / RECORD).exists()
    return "ramp" in TomlDocument.read(path, error=ScenarioError).content


def play_campaign(what: Path | None, out: Path | None, project: Project) -> None:
    """From the file or directory to the summary; FeedbenchError when nothing could be measured."""
    if not project.engine.exists():
        raise FeedbenchError("the engine is not built", where=str(project.engine), hint="try: make setup")
    registry = discover(project)
    campaign, run = _campaign(what, project, out, registry)
    say(f"run directory {run}")
    left_out = {} if campaign.elsewhere else _build(campaign, registry, project, run)
    able = tuple(target for target in campaign.targets if target not in left_out)
    if not able:
        raise FeedbenchError("nothing can be measured", where=str(run), hint="see above what is missing")
    pinning = choose_pinning()
    if pinning.advice:
        say(pinning.advice)
    place = Place(run=run, project=project, registry=registry, pinning=pinning)
    played = replace(campaign, targets=able)
    try:
        play(played, place)
    finally:
        measured = _conclude(played, run, left_out)
    if not measured:
        raise FeedbenchError("no target was measured", where=str(run / "summary.md"))


def _campaign(
    what: Path | None, project: Project, out: Path | None, registry: Registry
) -> tuple[Campaign, Path]:
    chosen = what or project.scenarios / "papers" / "tomasetti.toml"
    if chosen.is_dir():
        if out is not None:
            raise FeedbenchError("--out is for a new run", where=str(chosen))
        return campaign_from_json(chosen / RECORD), chosen
    campaign = with_environment(read_campaign(chosen), os.environ)
    if campaign.elsewhere is None:
        campaign = with_targets(campaign, registry)
    run = out or project.runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{campaign.name}"
    if (run / RECORD).exists():
        raise RunDirectoryError(
            "there is a run already", where=str(run), hint=f"feedbench ramp {run} goes on with it"
        )
    write_json(run / "host.json", read_facts().document())
    write_json(run / RECORD, campaign.to_json())
    return campaign, run


def _build(campaign: Campaign, registry: Registry, project: Project, run: Path) -> dict[str, str]:
    """Builds what can be built; why the others are left out."""
    known = set(registry.names())
    left_out = {name: "there is no such target in targets/" for name in campaign.targets if name not in known}
    targets = [registry.get(name) for name in campaign.targets if name in known]
    for target in targets:
        if "stamp" not in target.models:
            left_out[target.name] = "it does not serve /stamp"
    for receipt in build_targets(targets, registry, project=project, say=say):
        write_receipt(RunDirectory(run).receipt(receipt.target), receipt)
        if receipt.state != "built":
            left_out[receipt.target] = receipt.reason or receipt.state
    for name, reason in left_out.items():
        say(f"{name}: left out, {reason}")
    return left_out


def _conclude(campaign: Campaign, run: Path, left_out: dict[str, str]) -> bool:
    """Writes and draws what there is; False when there is nothing."""
    # It draws, which nothing before it needs.
    from feedbench.ramp.summary import write_results

    folder = os.environ.get(FOLDER)
    targets = write_results(
        campaign, run, study_folder=Path(folder) if folder else run / "tomasetti", left_out=left_out
    )
    if targets:
        print((run / "summary.html").resolve())
    return bool(targets)
