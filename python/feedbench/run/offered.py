"""The rate that a share of a target's capacity came to, and the load that this makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from feedbench.load import CapacityShare, Load
from feedbench.plan import Cell, Plan


@dataclass(frozen=True)
class Offered:
    """`cause` says why there is no rate."""

    capacity_per_s: float | None
    rate_per_s: float | None
    cause: str | None


def load_of(plan: Plan, cell: Cell, offered: Mapping[str, Offered]) -> Load:
    """The cell's load as the engine is to be told: with a rate where the plan has a share."""
    load = plan.condition(cell.condition).load
    if not isinstance(load.pacer, CapacityShare):
        return load
    capacity_per_s = offered[cell.id].capacity_per_s
    if capacity_per_s is None:
        raise ValueError(f"{cell.id} has no rate: {offered[cell.id].cause}")
    return replace(load, pacer=load.pacer.of(capacity_per_s))
