"""A run on several machines: what the run directory keeps of them, and how a plan for them is made."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from feedbench.build import sources_sha256
from feedbench.cluster.assignment import Assignment, assign
from feedbench.cluster.connection import Cluster, RemoteHost
from feedbench.cluster.contact import contact
from feedbench.cluster.dask import need_dask
from feedbench.cluster.place import ClusterPlace, Wanted
from feedbench.cluster.station import Built, Sheet
from feedbench.errors import ClusterError, RunDirectoryError
from feedbench.paths import SCHEMA, RunDirectory, read_json, write_json
from feedbench.plan import Host, read_plan
from feedbench.receipt import Receipt, read_receipt
from feedbench.registry import Registry

PATIENCE_S = 60.0


@dataclass(frozen=True)
class ClusterOrder:
    """What the command line and the scenario ask of the hosts; `token` names the run to them."""

    address: str
    tls: Path | None
    apart: bool
    agents: int = 1
    patience_s: float = PATIENCE_S
    token: str = ""

    def write(self, directory: RunDirectory) -> None:
        """cluster.json."""
        write_json(
            directory.cluster,
            {
                "schema": SCHEMA,
                "address": self.address,
                "tls": None if self.tls is None else str(self.tls.resolve()),
                "apart": self.apart,
                "agents": self.agents,
                "patience_s": self.patience_s,
                "token": self.token or uuid.uuid4().hex,
            },
        )


@dataclass(frozen=True)
class Survey:
    """The hosts that would do the work, and what the targets' host has built."""

    assignment: Assignment
    sheets: Mapping[str, Sheet]
    built: Mapping[str, Built]

    @property
    def host(self) -> Host:
        return Host(self.assignment.target.name, self.assignment.target.address)

    @property
    def loaders(self) -> tuple[Host, ...]:
        return tuple(Host(load.name, load.address) for load in self.assignment.loads)

    @property
    def receipts(self) -> list[Receipt]:
        return [entry.receipt for entry in self.built.values() if entry.receipt is not None]

    def seen_by(self, registry: Registry) -> Registry:
        """The registry with the states that targets have on their host."""
        states = {name: entry.state for name, entry in self.built.items()}
        return replace(registry, states={**registry.states, **states}, debug_failures={})


def survey(order: ClusterOrder, names: Sequence[str], registry: Registry) -> Survey:
    """Asks the hosts, and holds none; ClusterError when one of those that would do the work is refused."""
    cluster = Cluster(contact(order.address, order.tls, role="controller"), order.token)
    try:
        hosts = cluster.hosts()
        offering = [host.sheet.host for host in hosts.values()]
        assignment = assign(offering, apart=order.apart, agents=order.agents)
        for host in assignment.hosts:
            hosts[host.name].check()
        target = hosts[assignment.target.name]
        built = target.built(tuple(names))
        _check_sources(target, built, registry)
        return Survey(assignment, {host.name: hosts[host.name].sheet for host in assignment.hosts}, built)
    finally:
        cluster.forget()


@contextmanager
def hosts_of(
    directory: RunDirectory, *, say: Callable[[str], None], stopped: Callable[[], bool] = lambda: False
) -> Iterator[ClusterPlace | None]:
    """The hosts of a run, held while the context lasts; None where the run is made on this machine."""
    if not directory.cluster.exists():
        yield None
        return
    need_dask()
    order = read_order(directory)
    plan = read_plan(directory.plan)
    receipts = [read_receipt(directory.receipt(target)) for target in plan.targets]
    place = ClusterPlace(
        Cluster(contact(order.address, order.tls, role="controller"), order.token),
        plan,
        Wanted(
            apart=order.apart,
            agents=order.agents,
            patience_s=order.patience_s,
            sources={
                receipt.target: receipt.sources_sha256 for receipt in receipts if receipt.state == "built"
            },
        ),
        say,
        stopped,
    )
    try:
        place.gather()
        yield place
    finally:
        place.close()


def read_order(directory: RunDirectory) -> ClusterOrder:
    """RunDirectoryError when cluster.json is cut short or incomplete."""
    document = read_json(directory.cluster, needed_for="know on which machines it runs")
    try:
        fields = {name: value for name, value in document.items() if name != "schema"}
        return ClusterOrder(**{**fields, "tls": None if fields["tls"] is None else Path(fields["tls"])})
    except (KeyError, TypeError, AttributeError) as error:
        raise RunDirectoryError(
            f"this is no record of a cluster ({error})", where=str(directory.cluster)
        ) from error


def _check_sources(target: RemoteHost, built: Mapping[str, Built], registry: Registry) -> None:
    """What the host has built must be what lies here: nobody else knows what the run is to be about."""
    for name, entry in built.items():
        if entry.receipt is None or entry.receipt.state != "built":
            continue
        here = sources_sha256(registry.get(name))
        if entry.receipt.sources_sha256 != here:
            raise ClusterError(
                f"refused: its {name} is built from other sources (hash {entry.receipt.sources_sha256[:12]}) "
                f"than those here ({here[:12]})",
                where=target.name,
                hint=f"bring both checkouts to one state, then feedbench build {name} there",
            )
