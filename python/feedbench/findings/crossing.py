"""Clients crossed with servers: how much of what differs belongs to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from feedbench.findings.comparison import Interval
from feedbench.plan import FactorValue

Part = Literal["client", "server", "interaction", "residual"]


@dataclass(frozen=True)
class PartFinding:
    """One part of the variance of log latency within a block, as a share (0…1) of the whole.

    `factor` is the typical distance from the mean: 1.3 says that a typical client (server, pairing, repeat)
    lies a factor of 1.3 above or below it. `p` and `p_holm` are None for the residual, which is no claim.
    """

    part: Part
    share: float
    interval: Interval
    factor: float
    p: float | None
    p_holm: float | None
    found: bool


@dataclass(frozen=True)
class LevelEffect:
    """One client's or server's latency as a ratio to the mean (geometric) over all of its kind."""

    name: str
    ratio: float
    interval: Interval


@dataclass(frozen=True)
class OwnPairs:
    """Two libraries, each with its own client: first / second, and how it divides between server and client.

    `server` × `client` is `ratio`. `interaction` is the servers' ratio under the first client over that under
    the second: 1 when it does not matter who asks.
    """

    pair: tuple[str, str]
    ratio: float
    interval: Interval
    server: float
    server_interval: Interval
    client: float
    client_interval: Interval
    interaction: float
    interaction_interval: Interval


@dataclass(frozen=True, kw_only=True)
class CrossingFinding:
    """Every client with every server, at one quantile and one value of all other factors.

    `typical_ns` has a row for each client and a column for each server, geometric means over the blocks that
    hold all of them. `withheld` says why nothing is split; then `parts`, effects and pairs are empty.
    `left_out`: clients and servers that have too few blocks with the others, with the reason.
    """

    id: str
    fixed: Mapping[str, FactorValue]
    quantile: str
    clients: tuple[str, ...]
    servers: tuple[str, ...]
    blocks: int
    typical_ns: tuple[tuple[float, ...], ...]
    parts: tuple[PartFinding, ...]
    client_effects: tuple[LevelEffect, ...]
    server_effects: tuple[LevelEffect, ...]
    own_pairs: tuple[OwnPairs, ...]
    left_out: tuple[str, ...]
    withheld: str | None
