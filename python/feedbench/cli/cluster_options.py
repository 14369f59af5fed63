"""The options by which `plan` and `run` are sent to several machines."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Annotated

import typer

from feedbench.cluster.dask import need_dask
from feedbench.cluster.run import PATIENCE_S, ClusterOrder
from feedbench.errors import ClusterError
from feedbench.scenario import Scenario

CLUSTER = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on the hosts of this scheduler, such as 10.0.0.1:8786 (docs/hosts.md).",
        show_default=False,
    ),
]
TLS = Annotated[
    Path | None,
    typer.Option(
        "--tls",
        metavar="DIR",
        help="Certificates, as feedbench cluster init makes them.",
        show_default=False,
    ),
]
APART = Annotated[
    bool, typer.Option("--apart", help="With --cluster: the load on another host than the targets.")
]
AGENTS = Annotated[
    int,
    typer.Option("--agents", min=1, help="With --cluster: from how many hosts the load comes together."),
]
PATIENCE = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0,
        help="With --cluster: how long to wait for a host or scheduler that is lost.",
    ),
]


def cluster_order(
    cluster: str | None,
    tls: Path | None,
    *,
    apart: bool,
    agents: int,
    patience_s: float = PATIENCE_S,
) -> ClusterOrder | None:
    """None without --cluster; ClusterError when its options come without it."""
    if cluster is None:
        if tls is not None or apart or agents > 1:
            raise ClusterError("--tls, --apart and --agents go with --cluster", hint="see docs/hosts.md")
        return None
    need_dask()
    return ClusterOrder(cluster, tls, apart, agents, patience_s=patience_s, token=uuid.uuid4().hex)


def check_apart(scenario: Scenario, order: ClusterOrder | None) -> None:
    """A scenario that wants client and server apart can't be had on one machine."""
    if scenario.apart and order is None:
        raise ClusterError(
            "it wants client and server apart, which takes several machines",
            where=str(scenario.path),
            hint="--cluster ADDRESS, see docs/hosts.md",
        )
