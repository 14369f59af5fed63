"""One load from several hosts: its shares, and the sum of what the agents measured. Pure, but for files.

Agents take the same turns in the same order, each turn at its time by the clock. Samples are put together on
the first agent's clock and quantiles are taken of all of them: no percentile is ever averaged. A slice that
an agent began late was not the load that was asked for: its part of that slice is left out, and it is named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import ClusterError
from feedbench.paths import read_json, write_bytes, write_json
from feedbench.samples import RECORD, Records, Samples, read_samples, write_samples

# Beyond this share of a slice the agents load a target one after the other, and not together.
LATE_SHARE = 0.1
# Between two turns, for the answers to the last, besides what the path takes.
TURN_GAP_NS = 10_000_000
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
SUMS = (
    *("sent", "received", "lost", "duplicated", "out_of_order", "wrong", "sent_total", "received_total"),
    *("connections", "handshakes", "engine_cpu_ns", "engine_stalls", "reconnects"),
    *("round_trips_per_s", "handshakes_per_s"),
)
VERDICTS = ("ok", "missed_rate", "skipped", "unsupported", "failed")  # the worst is last


@dataclass(frozen=True)
class AgentResult:
    """What one host measured of one cell. `offset_ns` is what its clock shows more than the controller's."""

    host: str
    offset_ns: int
    load: Mapping[str, Any]
    samples: Samples


@dataclass(frozen=True)
class Merged:
    """One cell, as if one agent had driven it; `late` are the slices left out, by host."""

    load: dict[str, Any]
    records: Records
    late: Mapping[str, tuple[int, ...]]


def shared_requests(request: Mapping[str, Any], agents: int, *, path_ns: int) -> list[dict[str, Any]]:
    """The request of each agent: connections and rates add up to the whole.

    `path_ns` is how long a message is on its way there and back: what is answered later than that and
    TURN_GAP_NS after a turn delays the next.
    """
    shares = []
    for agent in range(agents):
        targets = [_target_share(target, agent, agents) for target in request["targets"]]
        shares.append({**request, "targets": targets, "agent": agent, "turn_gap_ns": TURN_GAP_NS + path_ns})
    return shares


def _target_share(target: Mapping[str, Any], agent: int, agents: int) -> dict[str, Any]:
    whole = int(target["connections"])
    connections = whole // agents + (agent < whole % agents)
    if connections == 0:
        raise ClusterError(
            f"{whole} connections can't come from {agents} hosts",
            where=str(target["name"]),
            hint="fewer --agents, or more connections",
        )
    pacer = dict(target["pacer"])
    if "rate_per_s" in pacer:
        pacer["rate_per_s"] = round(pacer["rate_per_s"] * connections / whole, 3)
    return {**target, "connections": connections, "pacer": pacer}


def late_slices(agents: Sequence[AgentResult], *, turn_ns: int) -> dict[str, tuple[int, ...]]:
    """By host, the slices that it began later than the first of the agents, by more than is allowed.

    By the same offsets as those of the start, so that what is unknown of them accuses nobody.
    """
    starts = {agent.host: slice_starts_ns(agent) for agent in agents}
    allowed_ns = turn_ns * LATE_SHARE
    late: dict[str, list[int]] = {agent.host: [] for agent in agents}
    for number in sorted({number for each in starts.values() for number in each}):
        begun = {host: each[number] for host, each in starts.items() if number in each}
        first_ns = min(begun.values())
        for host, at_ns in begun.items():
            if at_ns - first_ns > allowed_ns:
                late[host].append(number)
    return {host: tuple(numbers) for host, numbers in late.items()}


def slice_starts_ns(agent: AgentResult) -> dict[int, int]:
    """By slice, when it began, on the controller's clock: its first message may be due long after."""
    return {
        number: int(at_ns) - agent.offset_ns
        for number, at_ns in enumerate(agent.load.get("slice_starts_ns", ()))
    }


def skew_ns(agents: Sequence[AgentResult]) -> dict[str, int | None]:
    """How far apart the agents began the same slices: the middle one, and the worst."""
    starts = [slice_starts_ns(agent) for agent in agents]
    common = set.intersection(*(set(each) for each in starts)) if starts else set()
    apart = sorted(
        max(each[number] for each in starts) - min(each[number] for each in starts) for number in common
    )
    if not apart:
        return {"median": None, "most": None}
    return {"median": apart[len(apart) // 2], "most": apart[-1]}


def merge(agents: Sequence[AgentResult], *, turn_ns: int, uncertain_ns: int) -> Merged:
    """The cell's load.json and samples; the first agent's clock is that of the samples.

    `turn_ns` is how long a target is loaded at a time, `uncertain_ns` how far the clocks between the agents
    are unknown.
    """
    late = late_slices(agents, turn_ns=turn_ns)
    parts, connections = [], 0
    for agent in agents:
        records = agent.samples.records
        kept = records[~np.isin(records["slice"], late[agent.host])].astype(RECORD, copy=True)
        shift_ns = agents[0].offset_ns - agent.offset_ns
        for column in ("intended_ns", "sent_ns", "received_ns"):
            kept[column] = (kept[column].astype(np.int64) + shift_ns).astype(np.uint64)
        kept["connection"] += connections
        connections += int(agent.load["connections"])
        parts.append(kept)
    records = np.concatenate(parts)
    records = records[np.argsort(records["intended_ns"], kind="stable")]
    document = _load(agents, records, late)
    document["skew_ns"]["uncertain"] = uncertain_ns
    return Merged(document, records, late)


def _load(
    agents: Sequence[AgentResult],
    records: Records,
    late: Mapping[str, tuple[int, ...]],
) -> dict[str, Any]:
    loads = [agent.load for agent in agents]
    verdict = max((str(load["verdict"]) for load in loads), key=VERDICTS.index)
    causes = [f"{agent.host}: {agent.load['cause']}" for agent in agents if agent.load["cause"]]
    latency, from_send = (records["received_ns"] - records[column] for column in ("intended_ns", "sent_ns"))
    document = {
        **{name: value for name, value in loads[0].items() if name != "slice_starts_ns"},
        "verdict": verdict,
        "cause": "; ".join(causes) or None,
        **{name: sum(load[name] for load in loads) for name in SUMS if name in loads[0]},
        "measured_ns": max(int(load["measured_ns"]) for load in loads),
        "slices": max(int(load["slices"]) for load in loads),
        "bytes_per_s": _sum_or_none([load["bytes_per_s"] for load in loads]),
        "interrupted": any(load["interrupted"] for load in loads),
        "latency_ns": summary(latency),
        "latency_from_send_ns": summary(from_send),
        "lateness_ns": summary(records["sent_ns"] - records["intended_ns"]),
        "errors": [error for load in loads for error in load["errors"]],
        "warnings": [warning for load in loads for warning in load["warnings"]],
        "skew_ns": skew_ns(agents),
        "agents": [
            {
                "host": agent.host,
                "verdict": agent.load["verdict"],
                "connections": agent.load["connections"],
                "lateness_ns": agent.load["lateness_ns"],
                "late_slices": list(late[agent.host]),
            }
            for agent in agents
        ],
    }
    return _without_late(document, agents, late)


def _without_late(
    document: dict[str, Any], agents: Sequence[AgentResult], late: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Counts and rates without the slices that were left out; a warning names who was late."""
    for agent in agents:
        numbers = late[agent.host]
        if not numbers:
            continue
        left_out = int(np.isin(agent.samples.records["slice"], numbers).sum())
        document["sent"] -= left_out
        document["received"] -= left_out
        share = len(numbers) / max(1, int(agent.load["slices"]))
        document["round_trips_per_s"] -= agent.load["round_trips_per_s"] * share
        text = f"{agent.host} began {len(numbers)} of {agent.load['slices']} slices late: they are left out"
        document["warnings"].append({"code": "late_agent", "text": text})
    return document


def summary(values: NDArray[np.uint64]) -> dict[str, Any]:
    """Exact quantiles by nearest rank, as the engine prints them."""
    if not len(values):
        return {"count": 0, "min": 0, "mean": 0.0, **dict.fromkeys(QUANTILES, 0), "max": 0}
    ordered = np.sort(values)
    return {
        "count": len(ordered),
        "min": int(ordered[0]),
        "mean": float(ordered.mean()),
        **{name: int(ordered[math.ceil(share * len(ordered)) - 1]) for name, share in QUANTILES.items()},
        "max": int(ordered[-1]),
    }


def merged_log(logs: Sequence[str]) -> str:
    """Interval logs of several agents as one: HdrHistogram's readers add up the histograms of a tag."""
    head = [line for line in logs[0].splitlines() if line.startswith(("#", '"'))]
    intervals = [
        line for log in logs for line in log.splitlines() if line and not line.startswith(("#", '"'))
    ]
    return "\n".join([*head, *intervals]) + "\n"


def write_merged(folder: Path, offsets_ns: Mapping[str, int], *, turn_ns: int, uncertain_ns: int) -> None:
    """From what stands in `folder`/agents/<host>/ to the cell's own files.

    Nothing is written where an agent left no result: the cell has failed then. A late agent's histograms
    hold its late slices, too, and can't be taken apart: its intervals are not in the log.
    """
    own = [folder / "agents" / host for host in offsets_ns]
    if not all((place / name).exists() for place in own for name in ("load.json", "samples.fbs")):
        return
    agents = [
        AgentResult(
            host=place.name,
            offset_ns=offsets_ns[place.name],
            load=read_json(place / "load.json", needed_for="add up what several hosts measured"),
            samples=read_samples(place / "samples.fbs"),
        )
        for place in own
    ]
    merged = merge(agents, turn_ns=turn_ns, uncertain_ns=uncertain_ns)
    header = agents[0].samples.header
    partial = folder / ".samples.fbs.partial"
    write_samples(partial, merged.records, name=str(header["name"]), drop_first=float(header["drop_first"]))
    partial.replace(folder / "samples.fbs")
    logs = [
        (place / "histogram.hlog").read_text(encoding="utf-8")
        for place in own
        if not merged.late[place.name] and (place / "histogram.hlog").exists()
    ]
    if logs:
        write_bytes(folder / "histogram.hlog", merged_log(logs).encode())
    write_json(folder / "load.json", merged.load)  # last: it says that the rest is there


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
