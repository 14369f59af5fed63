"""The surroundings of one round: what the gates judge, blind to who was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from feedbench.host.pinning import Pinning
from feedbench.host.pressure import Pressure, shares_between
from feedbench.host.shield import Shield
from feedbench.paths import SCHEMA


@dataclass(frozen=True)
class Surroundings:
    """What a machine's counters said around a round; `hosts` has each host's, where there were several."""

    steal_share: float
    psi_cpu_some_share: float | None
    load_average_1m: float
    other_work_share: float
    wall_ns: int
    cpus_awake: bool
    hosts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def shares(self) -> dict[str, Any]:
        """Those that the gates judge."""
        return {
            "steal_share": self.steal_share,
            "psi_cpu_some_share": self.psi_cpu_some_share,
            "load_average_1m": self.load_average_1m,
            "other_work_share": self.other_work_share,
        }


def surroundings_between(
    before: Pressure, after: Pressure, *, other_work_share: float, cpus_awake: bool
) -> Surroundings:
    """Of one machine, between two readings."""
    shares = shares_between(before, after)
    return Surroundings(
        steal_share=shares.steal,
        psi_cpu_some_share=shares.psi_cpu_some,
        load_average_1m=after.load_average_1m,
        other_work_share=other_work_share,
        wall_ns=after.at_ns - before.at_ns,
        cpus_awake=cpus_awake,
    )


def worst_of(each: Mapping[str, Surroundings]) -> Surroundings:
    """Of several hosts, by name: a round is as good as the worst of the machines that took part."""
    hosts = list(each.values())
    waited = [host.psi_cpu_some_share for host in hosts if host.psi_cpu_some_share is not None]
    return Surroundings(
        steal_share=max(host.steal_share for host in hosts),
        psi_cpu_some_share=max(waited, default=None),
        load_average_1m=max(host.load_average_1m for host in hosts),
        other_work_share=max(host.other_work_share for host in hosts),
        wall_ns=max(host.wall_ns for host in hosts),
        cpus_awake=all(host.cpus_awake for host in hosts),
        hosts={name: host.shares() for name, host in each.items()},
    )


def environment_document(
    *,
    block: int,
    round_id: str,
    surroundings: Surroundings,
    engine_run_delay_ns: int,
    run_delays_ns: Mapping[str, int],
    driven_ns: Mapping[str, int],
    shield: Shield,
    pinning: Pinning,
) -> dict[str, Any]:
    """environment-<round>.json; `run_delays_ns` and `driven_ns` are by process id."""
    return {
        "schema": SCHEMA,
        "block": block,
        "round": round_id,
        **surroundings.shares(),
        **({"hosts": dict(surroundings.hosts)} if surroundings.hosts else {}),
        "engine_run_delay_ns": engine_run_delay_ns,
        "target_run_delay_share": {
            process: _share(waited_ns, driven_ns[process]) for process, waited_ns in run_delays_ns.items()
        },
        "wall_ns": surroundings.wall_ns,
        "cpus_awake": surroundings.cpus_awake,
        "shield": shield.description,
        "pinned": pinning.document(),
    }


def _share(waited_ns: int, driven_ns: int) -> float:
    """A child that ended takes its count with it; less than no waiting is none."""
    return min(1.0, max(0, waited_ns) / driven_ns) if driven_ns else 0.0
