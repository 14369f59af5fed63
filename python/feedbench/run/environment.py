"""The surroundings of one round: what the gates judge, blind to who was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from feedbench.host.pinning import Pinning
from feedbench.host.pressure import Pressure, shares_between
from feedbench.host.shield import Shield
from feedbench.paths import SCHEMA


def environment_document(
    *,
    block: int,
    round_id: str,
    before: Pressure,
    after: Pressure,
    engine_run_delay_ns: int,
    other_work_share: float,
    run_delays_ns: Mapping[str, int],
    driven_ns: Mapping[str, int],
    cpus_awake: bool,
    shield: Shield,
    pinning: Pinning,
) -> dict[str, Any]:
    """environment-<round>.json; `run_delays_ns` and `driven_ns` are by process id."""
    shares = shares_between(before, after)
    return {
        "schema": SCHEMA,
        "block": block,
        "round": round_id,
        "steal_share": shares.steal,
        "psi_cpu_some_share": shares.psi_cpu_some,
        "load_average_1m": after.load_average_1m,
        "other_work_share": other_work_share,
        "engine_run_delay_ns": engine_run_delay_ns,
        "target_run_delay_share": {
            process: _share(waited_ns, driven_ns[process]) for process, waited_ns in run_delays_ns.items()
        },
        "wall_ns": after.at_ns - before.at_ns,
        "cpus_awake": cpus_awake,
        "shield": shield.description,
        "pinned": pinning.document(),
    }


def _share(waited_ns: int, driven_ns: int) -> float:
    """A child that ended takes its count with it; less than no waiting is none."""
    return min(1.0, max(0, waited_ns) / driven_ns) if driven_ns else 0.0
