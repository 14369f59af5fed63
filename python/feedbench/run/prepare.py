"""Brings a run directory to where measuring can begin: plan, receipts, host facts, and who is left out and
why.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from feedbench.builder import build_targets
from feedbench.cluster.run import ClusterOrder, Survey, survey
from feedbench.cluster.suitable import check_suitable
from feedbench.errors import FeedbenchError, RunDirectoryError
from feedbench.host.facts import read_facts
from feedbench.paths import Project, RunDirectory, write_json
from feedbench.plan import Plan, read_plan, write_plan
from feedbench.planner import make_plan
from feedbench.protocol import Protocol
from feedbench.receipt import Receipt, read_receipt, write_receipt
from feedbench.registry import Registry, discover
from feedbench.run.record import RunRecord, read_record
from feedbench.scenario import Scenario, read_scenario
from feedbench.target import BUILD_MODE, DEBUG
from feedbench.units import format_duration

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """What the command line may change of a scenario; None leaves it."""

    blocks: int | None = None
    seed: int | None = None
    duration_ns: int | None = None  # of measuring each cell, over all blocks


def new_run(
    scenario_file: Path,
    *,
    project: Project,
    place: Path | None,
    options: Options,
    say: Say,
    cluster: ClusterOrder | None = None,
) -> RunDirectory:
    """Builds what the scenario wants and writes scenario.toml, plan.json, host.json and the receipts.

    `place` None makes runs/<time>-<scenario>/. On the hosts of a `cluster` nothing is built from here.
    """
    registry = discover(project)
    for name, reason in registry.broken.items():
        say(f"{name}: left out, {reason}")
    scenario = _with(read_scenario(scenario_file, registry=registry, root=project.root), options)
    surveyed: Survey | None = None
    if cluster is not None:
        plan, surveyed = cluster_plan(scenario, registry, cluster, seed=options.seed)
        receipts = surveyed.receipts
    else:
        receipts = _build(_wanted(scenario), registry, project, say, debug=_debugs(scenario))
        # Read anew: what failed to build is left out of the plan.
        registry = discover(project)
        plan = make_plan(
            _with(read_scenario(scenario_file, registry=registry, root=project.root), options),
            registry,
            seed=options.seed,
        )
    told = {receipt.target for receipt in receipts if receipt.state == "missing"}  # by the build, a line each
    for skipped in plan.skipped:
        if skipped.cell is None and skipped.target in told:
            continue
        say(f"{skipped.cell or skipped.target}: left out, {skipped.reason}")
    if not plan.cells:
        raise FeedbenchError(
            "nothing can be measured", where=str(scenario_file), hint="see above what is missing"
        )
    directory = RunDirectory(place or _fresh(project.runs, scenario.name))
    if directory.plan.exists():
        raise RunDirectoryError(
            "there is a run already",
            where=str(directory.path),
            hint=f"feedbench run {directory.path} goes on with it",
        )
    if cluster is not None and surveyed is not None:
        _keep_hosts(directory, replace(cluster, apart=cluster.apart or scenario.apart), surveyed)
    _keep(directory, scenario_file, plan, receipts)
    return directory


def cluster_plan(
    scenario: Scenario, registry: Registry, order: ClusterOrder, *, seed: int | None
) -> tuple[Plan, Survey]:
    """A plan for the hosts of a cluster: who does what, of the targets that the targets' host has built."""
    wanted = replace(order, apart=order.apart or scenario.apart)
    surveyed = survey(wanted, _wanted(scenario), registry)
    plan = make_plan(
        scenario,
        surveyed.seen_by(registry),
        seed=seed,
        host=surveyed.host,
        loaders=surveyed.loaders,
    )
    check_suitable(plan, where=str(scenario.path))
    return plan, surveyed


def resumed_run(path: Path, *, project: Project, say: Say) -> RunDirectory:
    """A run that was planned or begun earlier; refused when a target has changed since then."""
    directory = RunDirectory(path)
    plan = read_plan(directory.plan)
    if directory.cluster.exists():
        return directory  # its hosts are asked for the hashes of what they have built, before each block
    debug = any(process.knobs.get(BUILD_MODE) == DEBUG for process in plan.processes)
    for receipt in _build(plan.targets, discover(project), project, say, debug=debug):
        if directory.receipt(receipt.target, receipt.mode).exists():
            _check_same(directory, receipt)
        else:
            write_receipt(directory.receipt(receipt.target, receipt.mode), receipt)
    if not directory.host.exists():
        write_json(directory.host, read_facts().document())
    return directory


def unbuilt(directory: RunDirectory, plan: Plan) -> dict[str, str]:
    """By target of the plan, why it can't be started: a plan may be older than a build that failed."""
    receipts = [read_receipt(directory.receipt(target)) for target in plan.targets]
    return {
        receipt.target: receipt.reason or receipt.state for receipt in receipts if receipt.state != "built"
    }


def leave_out(directory: RunDirectory, plan: Plan, left_out: dict[str, str]) -> None:
    """Writes the run's record, or renews it in a run that goes on."""
    if (directory.path / "run.json").exists():
        record = read_record(directory)
    else:
        record = RunRecord(blocks_planned=len(plan.blocks), started_unix_ns=time.time_ns())
    replace(record, left_out=left_out).write(directory)


def _with(scenario: Scenario, options: Options) -> Scenario:
    protocol = scenario.protocol
    if options.blocks is not None:
        protocol = replace(protocol, blocks=options.blocks)
    if options.duration_ns is not None:
        protocol = replace(protocol, measure_ns=_share(options.duration_ns, protocol))
    return replace(scenario, protocol=protocol)


def _share(duration_ns: int, protocol: Protocol) -> int:
    """One block's part of the measuring; a block needs time for a slice."""
    share_ns = duration_ns // protocol.blocks
    if share_ns < max(1, protocol.slice_ns or 0):
        raise FeedbenchError(
            f"{format_duration(duration_ns)} in {protocol.blocks} blocks is less than a slice in each",
            hint="a longer --duration, or fewer --blocks",
        )
    return share_ns


def _wanted(scenario: Scenario) -> tuple[str, ...]:
    """Every target that the scenario may start, copies and clients included."""
    clients = {str(scenario.load["client"]), *map(str, scenario.factors.get("client", ()))} - {
        "engine",
        "own",
    }
    control = {scenario.control.target} if scenario.control else set()
    return tuple(dict.fromkeys([*scenario.targets, scenario.sentinel, *sorted(control | clients)]))


def _debugs(scenario: Scenario) -> bool:
    """Whether some processes are to be started from debug builds."""
    values = scenario.factors.get(BUILD_MODE, [scenario.knobs.get(BUILD_MODE)])
    return DEBUG in values


def _build(
    names: Iterable[str], registry: Registry, project: Project, say: Say, *, debug: bool
) -> list[Receipt]:
    targets = [registry.get(name) for name in names]
    debugged = {target.name for target in targets if debug and target.debug_commands is not None}
    return build_targets(targets, registry, project=project, say=say, debug=debugged)


def _fresh(runs: Path, scenario: str) -> Path:
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{scenario}"
    path, number = runs / stem, 1
    while path.exists():
        number += 1
        path = runs / f"{stem}-{number}"
    return path


def _keep(directory: RunDirectory, scenario_file: Path, plan: Plan, receipts: list[Receipt]) -> None:
    try:
        directory.path.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(scenario_file, directory.scenario)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write into it: {error.strerror}", where=str(directory.path), hint="try another --out"
        ) from error
    for receipt in receipts:
        write_receipt(directory.receipt(receipt.target, receipt.mode), receipt)
    if not directory.host.exists():
        write_json(directory.host, read_facts().document())
    write_plan(directory.plan, plan)  # last: a directory with a plan has all the rest


def _keep_hosts(directory: RunDirectory, order: ClusterOrder, surveyed: Survey) -> None:
    """host.json is of the targets' host; each host has a sheet of its own, too."""
    order.write(directory)
    for name, sheet in surveyed.sheets.items():
        write_json(directory.path / "hosts" / f"{name}.json", sheet.facts)
    write_json(directory.host, surveyed.sheets[surveyed.host.name].facts)


def _check_same(directory: RunDirectory, now: Receipt) -> None:
    """Blocks of two different builds are not one run."""
    then = read_receipt(directory.receipt(now.target, now.mode))
    if (then.sources_sha256, then.version, then.toolchain) != (
        now.sources_sha256,
        now.version,
        now.toolchain,
    ):
        raise RunDirectoryError(
            f"{now.target} is not what it was when this run began",
            where=str(directory.path),
            hint="start a new run; feedbench analyze works on the blocks that this one has",
        )
