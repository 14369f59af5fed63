"""What a relay did besides passing events on in time: per hop, per process, and under a planted fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Unit = Literal["ns", "share", "bytes", "count"]

# Every measure of a relay: its name, what people call it, and its unit.
MEASURES: Mapping[str, tuple[str, Unit]] = {
    "direct_p50_ns": ("Without relay, p50", "ns"),
    "direct_p99_ns": ("Without relay, p99", "ns"),
    "entrance_p50_ns": ("At the entrance, p50", "ns"),
    "entrance_p99_ns": ("At the entrance, p99", "ns"),
    "inside_p50_ns": ("Entrance to client, p50", "ns"),
    "inside_p99_ns": ("Entrance to client, p99", "ns"),
    "client_p50_ns": ("At the client, p50", "ns"),
    "client_p99_ns": ("At the client, p99", "ns"),
    "skew_p50_ns": ("First to last client, p50", "ns"),
    "skew_p99_ns": ("First to last client, p99", "ns"),
    "wait_mean_ns": ("Waiting for the next message, mean", "ns"),
    "relay_cpu_share": ("CPU of the relay", "share"),
    "subscribers_cpu_share": ("CPU of the clients", "share"),
    "exchange_cpu_share": ("CPU of the exchange", "share"),
    "relay_rss_bytes": ("Memory of the relay", "bytes"),
    "subscribers_rss_bytes": ("Memory of the clients", "bytes"),
    "exchange_rss_bytes": ("Memory of the exchange", "bytes"),
    "memory_per_subscriber_bytes": ("Memory for each client", "bytes"),
    "others_before_p99_ns": ("Others' p99 before the stop", "ns"),
    "others_after_p99_ns": ("Others' p99 after it", "ns"),
    "unread_bytes": ("Left unread", "bytes"),
    "memory_growth_bytes": ("Relay grew by", "bytes"),
    "all_back_ns": ("All back after", "ns"),
    "refused": ("Refused handshakes", "count"),
    "missed": ("Missed events", "count"),
    "longest_gap_ns": ("Longest gap", "ns"),
    "clients_thrown_out": ("Clients thrown out", "count"),
}


@dataclass(frozen=True)
class RelayFinding:
    """One cell over its usable blocks. `measures`: of MEASURES those that it has, each the lower median over
    blocks. `policies`: what the relay did with a client that stopped reading, by the number of blocks.
    `resumed`: in how many blocks it went on after its upstream was lost.
    """

    cell: str
    target: str
    clients: int
    upstream: str
    fault: str
    blocks: int
    measures: Mapping[str, float]
    policies: Mapping[str, int]
    resumed: int | None

    @property
    def policy_words(self) -> str | None:
        """`kept (6), dropped (1)`; None where nobody was slow."""
        told = sorted(self.policies.items(), key=lambda entry: -entry[1])
        return ", ".join(f"{policy} ({blocks})" for policy, blocks in told) or None


def measures_of(relays: Sequence[RelayFinding]) -> list[str]:
    """The names of those measures that at least one of them has."""
    return [name for name in MEASURES if any(name in relay.measures for relay in relays)]
