"""What can't be asked of several machines: a sentence for each, before anything is started."""

from __future__ import annotations

from collections.abc import Iterator

from feedbench.errors import ClusterError
from feedbench.load import ENGINE, CapacityShare
from feedbench.plan import Plan
from feedbench.target import BUILD_MODE, DEBUG


def check_suitable(plan: Plan, *, where: str) -> None:
    """ClusterError with the first thing of the plan that only one machine can do."""
    problem = next(_problems(plan), None)
    if problem is not None:
        raise ClusterError(problem, where=where, hint="without --cluster it runs on this machine")


def _problems(plan: Plan) -> Iterator[str]:
    loads = [condition.load for condition in plan.conditions]
    if plan.is_of_feeds:
        yield "feeds can't run across hosts: event ages are measured by one clock"
    if strangers := sorted({load.client for load in loads} - {ENGINE}):
        yield f"only the engine drives targets across hosts, and here {strangers[0]} is to be the client"
    if any(isinstance(load.pacer, CapacityShare) for load in loads):
        yield "rates that are shares of a capacity can't be had across hosts: name the rate"
    if any(process.knobs.get(BUILD_MODE) == DEBUG for process in plan.processes):
        yield "debug builds can't be had across hosts"
    agents, fewest = len(plan.loaders), min((load.connections for load in loads), default=1)
    if fewest < agents:
        yield f"{fewest} connections can't come from {agents} hosts: fewer --agents, or more connections"
    if any(process.knobs.get("tls") == "on" for process in plan.processes):
        yield "targets can't serve wss across hosts: their certificates name the loopback only"
