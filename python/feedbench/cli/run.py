"""`feedbench run`: from a scenario to a report, from wherever the run directory stands."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from feedbench.cli.cluster_options import AGENTS, APART, CLUSTER, PATIENCE, TLS, check_apart, cluster_order
from feedbench.cli.common import JSON, say
from feedbench.cli.doors import play_doors
from feedbench.cli.ramp import is_campaign, play_campaign
from feedbench.cluster.run import PATIENCE_S, ClusterOrder, hosts_of, read_order
from feedbench.doors.campaign import is_doors
from feedbench.errors import FeedbenchError
from feedbench.paths import Project, RunDirectory
from feedbench.plan import Plan, read_plan
from feedbench.registry import discover
from feedbench.run.examined import wrong_servers
from feedbench.run.prepare import Options, leave_out, new_run, resumed_run, unbuilt
from feedbench.run.record import read_record
from feedbench.run.results import cell_statuses
from feedbench.run.supervisor import supervise
from feedbench.scenario import read_scenario
from feedbench.units import parse_duration


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("run", short_help="Measure a scenario, analyse it and write the report.")(run)


def run(
    what: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO | RUN_DIR",
            help="A scenario or ramp file, or the directory of a run to go on with. "
            "Default: scenarios/quick.toml.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where a new run goes. Default: runs/TIME-SCENARIO.", show_default=False
        ),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="As many blocks, instead of the scenario's.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="For the random orders, instead of the scenario's.", show_default=False),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Measure each cell for so long over all blocks, such as 60s, instead of the scenario's.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=1000, help="Durations times this, of a file with [doors].", show_default=False
        ),
    ] = None,
    cluster: CLUSTER = None,
    tls: TLS = None,
    apart: APART = False,
    agents: AGENTS = 1,
    patience: PATIENCE = PATIENCE_S,
    as_json: JSON = False,
) -> None:
    """Measure a scenario: plan, build, verify, run, analyse, report.

    A target that can't be built, or that doesn't echo rightly, is left out and named. ^C ends the run with
    what it has (twice: at once); `feedbench run RUN_DIR` goes on with it. A file with a table [ramp] is
    played as `feedbench ramp` plays it; one with a table [doors] collects through REST, WebSocket and FIX.
    """
    project = Project.find()
    order = cluster_order(cluster, tls, apart=apart, agents=agents, patience_s=patience)
    if order is not None and what is not None and (is_doors(what) or is_campaign(what)):
        raise FeedbenchError(
            "a file with a table [doors] or [ramp] can't run across hosts",
            where=str(what),
            hint="without --cluster it runs on this machine",
        )
    if what is not None and is_doors(what):
        if blocks is not None or seed is not None or duration is not None or as_json:
            raise FeedbenchError(
                "--blocks, --seed, --duration and --json are for scenarios, and this goes through doors",
                where=str(what),
            )
        play_doors(what, out, project, scale=scale or 1.0)
        return
    if scale is not None:
        raise FeedbenchError("--scale is for a file with a table [doors]", where=str(what))
    if what is not None and is_campaign(what):
        if blocks is not None or seed is not None or duration is not None or as_json:
            raise FeedbenchError(
                "--blocks, --seed, --duration and --json are for scenarios, and this is a ramp",
                where=str(what),
            )
        play_campaign(what, out, project)
        return
    if not project.engine.exists():
        raise FeedbenchError("the engine is not built", where=str(project.engine), hint="try: make setup")
    options = Options(blocks=blocks, seed=seed, duration_ns=_duration_ns(duration))
    directory = _directory(what, project, out, options, order)
    say(f"run directory {directory.path}")
    plan = read_plan(directory.plan)
    leave_out(directory, plan, _left_out(directory, plan, project))
    status = supervise(directory, project=project)
    if status == 0:
        _conclude(directory, as_json=as_json)
    else:
        _tell_what_stands(directory)
        raise typer.Exit(status if status > 0 else 1)


def _directory(
    what: Path | None, project: Project, out: Path | None, options: Options, order: ClusterOrder | None
) -> RunDirectory:
    chosen = what or project.scenarios / "quick.toml"
    if chosen.is_dir():
        if out is not None or options != Options():
            raise FeedbenchError(
                "--out, --blocks, --seed and --duration are for a new run", where=str(chosen)
            )
        directory = resumed_run(chosen, project=project, say=say)
        if order is not None:
            _move(directory, order)
        return directory
    check_apart(read_scenario(chosen, registry=discover(project), root=project.root), order)
    return new_run(chosen, project=project, place=out, options=options, say=say, cluster=order)


def _move(directory: RunDirectory, order: ClusterOrder) -> None:
    """The run goes on with another scheduler, or another folder of certificates."""
    if not directory.cluster.exists():
        raise FeedbenchError("this run was begun on one machine", where=str(directory.path))
    replace(read_order(directory), address=order.address, tls=order.tls).write(directory)


def _duration_ns(text: str | None) -> int | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise FeedbenchError(str(error), where="--duration", hint="such as 60s") from error


def _left_out(directory: RunDirectory, plan: Plan, project: Project) -> dict[str, str]:
    """Why a target of the plan is not timed: it did not build, or its answers are wrong."""
    left_out = unbuilt(directory, plan)
    if plan.is_of_feeds:  # each message of theirs is held against the ledger, in every block
        return left_out
    servers = sorted({process.target for process in plan.processes} - set(left_out))
    registry = discover(project)
    with hosts_of(directory, say=say) as remote:
        left_out |= wrong_servers(
            servers,
            directory=directory,
            registry=registry,
            project=project,
            say=say,
            verify=None if remote is None else remote.verify,
        )
    for target, reason in left_out.items():
        say(f"{target}: left out, {reason}")
    return left_out


def _conclude(directory: RunDirectory, *, as_json: bool) -> None:
    # Both load scientific libraries, which nothing before them needs.
    from feedbench.analyze import analyze_run, ranking_text
    from feedbench.report import write_report

    findings = analyze_run(directory)
    studies = _studies(directory)  # before the report, which links them
    page = write_report(directory)
    record = read_record(directory)
    if as_json:
        counts = Counter(status.verdict for status in cell_statuses(directory))
        document = {
            "schema": 1,
            "run_directory": str(directory.path),
            "report": str(page),
            "studies": studies,
            "verdicts": dict(counts),
        }
        print(json.dumps({**document, "blocks_done": len(record.blocks_done), "stopped": record.stopped}))
        return
    print(ranking_text(findings))
    print(page)
    for study in studies:
        print(study)


def _studies(directory: RunDirectory) -> list[str]:
    """The pages of Papík's analysis, where clients followed an exchange together, as in his study."""
    from feedbench.pipeline import campaign, write

    if not campaign.has_studies(read_plan(directory.plan)):
        return []
    try:
        results = campaign.analyze_run(directory)
    except FeedbenchError as error:  # the ranking stands without it
        say(f"no study: {error}")
        return []
    for problem in {str(problem): None for result in results for problem in result.study.problems}:
        say(problem)
    return [str((result.folder / write.PAGE).resolve()) for result in results]


def _tell_what_stands(directory: RunDirectory) -> None:
    done = len(read_record(directory).blocks_done)
    say(f"{done} blocks are kept; feedbench run {directory.path} goes on, feedbench analyze works on them")
