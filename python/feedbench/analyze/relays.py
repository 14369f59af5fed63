"""Relays: what their cells hold beside ages, as medians over blocks, and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from feedbench.analyze.evidence import Evidence, Json
from feedbench.analyze.intervals import lower_median
from feedbench.analyze.table import Column, Table, as_is, microseconds, number, percent
from feedbench.findings.relay import MEASURES, RelayFinding, Unit, measures_of
from feedbench.plan import Cell

SHOWN: Mapping[Unit, Callable[[Any], str]] = {
    "ns": microseconds,
    "share": percent,
    "bytes": number,
    "count": number,
}
_QUANTITIES = {
    "direct": "direct_age_ns",
    "entrance": "entrance_age_ns",
    "inside": "inside_ns",
    "skew": "skew_ns",
}
_PROCESSES = ("relay", "subscribers", "exchange")


def relay_findings(evidence: Evidence, dropped: Mapping[str, Collection[int]]) -> Iterator[RelayFinding]:
    """One for each cell of relays that was measured; `dropped`, by cell, are blocks that a gate took."""
    for cell in evidence.plan.cells:
        loads = [
            result.load
            for block, result in evidence.cells[cell.id].items()
            if result.usable and result.load and "relay" in result.load and block not in dropped[cell.id]
        ]
        if loads:
            yield _finding(cell, loads)


def _finding(cell: Cell, loads: Sequence[Json]) -> RelayFinding:
    relays = [load["relay"] for load in loads]
    blocks = [read_measures(load) for load in loads]
    measures = {}
    for name in MEASURES:
        known = [value for block in blocks if (value := block.get(name)) is not None]
        if known:
            measures[name] = float(lower_median(known))
    policies = Counter(relay["slow_consumer"]["policy"] for relay in relays if "slow_consumer" in relay)
    losses = [relay["upstream_loss"]["resumed"] for relay in relays if "upstream_loss" in relay]
    return RelayFinding(
        cell=cell.id,
        target=cell.target,
        clients=relays[0]["clients"],
        upstream=relays[0]["upstream"],
        fault=relays[0]["fault"],
        blocks=len(loads),
        measures=measures,
        policies=dict(policies),
        resumed=sum(losses) if losses else None,
    )


def read_measures(load: Json) -> dict[str, float | None]:
    """Every measure that one block's load.json has of its relay."""
    relay = load["relay"]
    found: dict[str, float | None] = {}
    for quantile in ("p50", "p99"):
        found[f"client_{quantile}_ns"] = load["latency_ns"][quantile]
        for name, key in _QUANTITIES.items():
            found[f"{name}_{quantile}_ns"] = relay[key][quantile]
    found["wait_mean_ns"] = relay["wait_ns"]["mean"]
    for process in _PROCESSES:
        spent = relay["processes"][process]
        found[f"{process}_rss_bytes"] = spent["rss_bytes"]
        if spent["wall_ns"]:
            found[f"{process}_cpu_share"] = spent["cpu_ns"] / spent["wall_ns"]
    found["memory_per_subscriber_bytes"] = relay["memory_per_subscriber_bytes"]
    return found | _of_fault(relay)


def _of_fault(relay: Json) -> dict[str, float | None]:
    if "slow_consumer" in relay:
        slow = relay["slow_consumer"]
        return {
            "others_before_p99_ns": slow["others_before_ns"]["p99"],
            "others_after_p99_ns": slow["others_after_ns"]["p99"],
            "unread_bytes": slow["unread_bytes"],
            "memory_growth_bytes": slow["memory_growth_bytes"],
        }
    if "storm" in relay:
        return {name: relay["storm"][name] for name in ("all_back_ns", "refused")}
    if "upstream_loss" in relay:
        names = ("missed", "longest_gap_ns", "clients_thrown_out")
        return {name: relay["upstream_loss"][name] for name in names}
    return {}


def relays_table(relays: Sequence[RelayFinding]) -> Table:
    """A line for each cell, with those measures that any of them has."""
    names = measures_of(relays)
    rows = (
        (
            *(relay.cell, relay.clients, relay.upstream, relay.fault, relay.blocks),
            *(relay.measures.get(name) for name in names),
            *(relay.policy_words, relay.resumed),
        )
        for relay in relays
    )
    columns = (
        *(Column(name, name.capitalize()) for name in ("cell", "clients", "upstream", "fault", "blocks")),
        *(Column(name, _title(name), SHOWN[MEASURES[name][1]]) for name in names),
        Column("policy", "Policy (blocks)"),
        Column("resumed", "Resumed (blocks)", as_is),
    )
    return Table("relays", "Relays: hops, processes and faults, medians over blocks.", columns, tuple(rows))


def _title(name: str) -> str:
    title, unit = MEASURES[name]
    return f"{title} (µs)" if unit == "ns" else f"{title} (bytes)" if unit == "bytes" else title
