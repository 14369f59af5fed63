"""The engine's request for one round: pure, from the plan, the addresses of the running processes and the
block's seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from feedbench.load import Load, pacer_to_json
from feedbench.paths import SCHEMA
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.protocol import Protocol

NS_PER_S = 1_000_000_000
# What an engine call may take beyond its planned time before it counts as hung: connecting, writing the
# samples.
ENGINE_GRACE_NS = 30 * NS_PER_S
# Connecting takes some milliseconds of it.
SHORTEST_WARMUP_NS = 50_000_000


def round_seed(block: Block, round_: Round) -> int:
    """A seed of its own for each engine call of a block, so that no two rounds see the same slices."""
    position = block.round_order.index(round_.id)
    return (block.seed + position * 0x9E37_79B9) % 2**63


def engine_request(
    plan: Plan,
    block: Block,
    round_: Round,
    *,
    loads: Mapping[str, Load],
    urls: Mapping[str, str],
    authorities: Mapping[str, Path | None],
    folders: Mapping[str, Path],
    cpu: int | None,
    root: Path,
) -> dict[str, Any]:
    """The request for those cells of the round whose process runs: `loads` holds theirs, all is by cell id.

    `authorities` are the files of who vouches for a server that speaks wss.
    """
    return {
        "schema": SCHEMA,
        "seed": round_seed(block, round_),
        "slice_ns": plan.protocol.slice_ns,
        "drop_first": plan.protocol.drop_first,
        "warmup_ns": plan.protocol.warmup_ns,
        "measure_ns": plan.protocol.measure_ns,
        "cpu": cpu,
        "transport": next(iter(loads.values())).transport,
        "targets": [
            {
                **_target(name, load, folders[name], root),
                "url": urls[name],
                "ca_file": None if (file := authorities[name]) is None else str(file),
            }
            for name, load in loads.items()
        ],
    }


def _target(name: str, load: Load, folder: Path, root: Path) -> dict[str, Any]:
    payload = asdict(load.payload)
    if payload["file"] is not None:
        payload["file"] = str(root / payload["file"])
    fragmented = {"fragments": load.fragments, "ping_between": load.ping_between}
    return {
        "name": name,
        "directory": str(folder.resolve()),
        "connections": load.connections,
        "payload": payload,
        "pacer": pacer_to_json(load.pacer),
        "offer_deflate": load.offer_deflate,
        "timeout_ns": load.timeout_ns,
        **(fragmented if load.fragments > 1 else {}),
    }


def driven_ns(plan: Plan) -> int:
    """How long one cell is driven in one round."""
    return plan.protocol.warmup_ns + plan.protocol.measure_ns


def connected_after_ns(protocol: Protocol, cells: int) -> int | None:
    """When, after the engine's start, to read memory: late in the warm-up, when all connections stand.

    Sliced, all cells warm up before the first is measured; else only the first one's warm-up is free for all.
    None without warm-up to hide the reading in.
    """
    warmup_ns = protocol.warmup_ns * (cells if protocol.slice_ns is not None else 1)
    return warmup_ns * 8 // 10 if warmup_ns >= SHORTEST_WARMUP_NS else None


def deadline_ns(plan: Plan, cells: Sequence[Cell]) -> int:
    """How long an engine call may take at all before it is ended."""
    timeouts_ns = sum(plan.condition(cell.condition).load.timeout_ns for cell in cells)
    return 2 * len(cells) * driven_ns(plan) + 2 * timeouts_ns + ENGINE_GRACE_NS
