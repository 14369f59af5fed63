"""`feedbench worker`: this machine takes part in what a cluster measures."""

from __future__ import annotations

import os
import socket
from typing import Annotated

import typer

from feedbench.cli.cluster_options import TLS
from feedbench.cli.common import say
from feedbench.cluster.assignment import OfferingHost, parse_offers
from feedbench.cluster.contact import LOOPBACK
from feedbench.cluster.worker import PATIENCE_S, WorkerOrder, run_worker
from feedbench.errors import ClusterError, FeedbenchError
from feedbench.host.facts import cpu_list
from feedbench.paths import Project


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("worker", short_help="Take part in what a cluster measures.")(worker)


def worker(
    scheduler: Annotated[str, typer.Argument(metavar="ADDRESS", help="The scheduler: 10.0.0.1:8786.")],
    *,
    offers: Annotated[
        str, typer.Option(metavar="WHAT", help="What this host does: load, target, exchange.")
    ] = "load,target",
    cpus: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="The CPUs to use, such as 0,1 or 0-3.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Default: this machine's name.", show_default=False)
    ] = None,
    address: Annotated[
        str, typer.Option(metavar="IP", help="Which of its addresses the other hosts reach it at.")
    ] = LOOPBACK,
    tls: TLS = None,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for the scheduler at first.")
    ] = PATIENCE_S,
) -> None:
    """Offer this machine to the scheduler at ADDRESS until ^C.

    It is refused, with the reason and status 1, when it runs another version of feedbench, when its clock
    is more than 50 ms off, or when it has no certificate. It starts only targets that it has built itself.
    When the scheduler is lost it waits for the next one.
    """
    project = Project.find()
    if not project.engine.exists():
        raise FeedbenchError("the engine is not built", where=str(project.engine), hint="try: make setup")
    host = OfferingHost(name or socket.gethostname(), address, parse_offers(offers), _cpus(cpus))
    run_worker(WorkerOrder(scheduler, host, tls, patience), project=project, say=say)


def _cpus(text: str | None) -> tuple[int, ...]:
    if text is None:
        return tuple(sorted(os.sched_getaffinity(0)))
    try:
        cpus = cpu_list(text)
    except ValueError:
        cpus = ()
    if not cpus:
        raise ClusterError(f'"{text}" names no CPUs', where="--cpus", hint="such as 0,1 or 0-3")
    return cpus
