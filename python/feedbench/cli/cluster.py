"""`feedbench cluster`: what several machines need once, certificates and a scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feedbench.cli.cluster_options import TLS
from feedbench.cli.common import say
from feedbench.cluster.certificates import issue_certificates
from feedbench.cluster.contact import LOOPBACK
from feedbench.cluster.scheduler import run_scheduler

DEFAULT_PORT = 8786  # Dask's


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    cluster = typer.Typer(no_args_is_help=True, help="Set up several machines (docs/hosts.md).")
    cluster.command("init", short_help="Make the certificates that hosts trust each other by.")(init)
    cluster.command("scheduler", short_help="Run the scheduler that hosts and controllers meet at.")(
        scheduler
    )
    app.add_typer(cluster, name="cluster", short_help="Set up several machines.")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the certificates.")],
) -> None:
    """Make an authority, and a certificate each for scheduler, workers and controllers.

    Copy the folder to every host that takes part. Whoever has it can run programs on all of them; the
    authority's own key is kept nowhere.
    """
    for file in issue_certificates(folder):
        print(file)
    say("copy this folder to every host, and to nobody else")


def scheduler(
    *,
    address: Annotated[
        str, typer.Option(metavar="IP", help="Where to listen; other than the loopback only with --tls.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = DEFAULT_PORT,
    tls: TLS = None,
) -> None:
    """Run a Dask scheduler until ^C; its address goes to stdout.

    When it ends, hosts wait for the next one at the same address, and runs go on with it.
    """
    run_scheduler(address, port, tls, ready=lambda where: print(where, flush=True))
