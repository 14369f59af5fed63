"""Numbers that can't be: arithmetic that any measurement, ours or a published one, has to satisfy.

A result that breaks one of these is wrong whatever it says, so it takes no part in a ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from feedbench.load import Closed, Load

# Beyond the rounding of what is printed, sound tables (papers/) keep Little's law within this.
LITTLE_TOLERANCE = 0.015
# Below this share of the clients' time in flight, a closed loop did not run: it waited for something unnamed.
IDLE_SHARE = 0.5
_ASCENDING = ("min", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max")


@dataclass(frozen=True)
class Impossible:
    """`check` is the law's name; `text` shows the numbers that break it."""

    check: str
    text: str


@dataclass(frozen=True)
class Witness:
    """What the raw samples of one cell in one block say, to hold against the engine's own account.

    `edge_ns`: the longest latencies added up, one for each message that could straddle the edge of a window.
    """

    count: int
    complete: bool
    backwards: int  # records received before they were sent
    waits_ns: int  # all latencies from the actual send time added up
    edge_ns: int
    p50_ns: int | None
    p99_ns: int | None


def littles_law(round_trips_per_s: float, mean_latency_ns: float, clients: int) -> float:
    """Throughput × mean latency as a share of the clients: 1 when each always waits for one answer."""
    return round_trips_per_s * mean_latency_ns / 1e9 / clients


def check_published(
    *, round_trips_per_s: float, mean_latency_ns: float, clients: int, rounding_ns: float = 0.0
) -> Iterator[Impossible]:
    """A row of somebody's table of a closed loop; `rounding_ns`: half a unit of its printed mean's last
    place.
    """
    share = littles_law(round_trips_per_s, mean_latency_ns, clients)
    # Whatever the mean was before it was printed speaks for the table.
    doubt = littles_law(round_trips_per_s, rounding_ns, clients)
    if abs(share - 1) > LITTLE_TOLERANCE + doubt:
        yield Impossible(
            "littles_law",
            f"{round_trips_per_s:,.1f}/s × {mean_latency_ns / 1e6:.3g} ms = {share * clients:.3g} messages "
            f"under way, but {clients} are",
        )


def check_cell(load: Load, result: Mapping[str, Any], witness: Witness | None) -> Iterator[Impossible]:
    """One cell in one block: its load.json, and its samples where there are any."""
    yield from _counts(result)
    for name in ("latency_ns", "latency_from_send_ns"):
        yield from _ascending(name, result.get(name) or {})
    if isinstance(load.pacer, Closed) and result.get("received"):
        yield from _closed_loop(messages_under_way(load), result, witness)
    if witness is not None:
        yield from _witnessed(load, result, witness)


def messages_under_way(load: Load) -> int:
    """At most, by the pacer of a closed loop; one a connection otherwise."""
    return load.connections * (load.pacer.in_flight if isinstance(load.pacer, Closed) else 1)


def straddling(clients: int, result: Mapping[str, Any]) -> int:
    """Messages that can lie across an edge of the measured windows: one for each client and window."""
    return clients * max(1, result.get("slices") or 1)


def _counts(result: Mapping[str, Any]) -> Iterator[Impossible]:
    sent, received, lost = (int(result[name]) for name in ("sent", "received", "lost"))
    # ^C catches messages under way, which are neither received nor lost.
    under_way = 0 if not result.get("interrupted") else max(0, sent - received - lost)
    if sent != received + lost + under_way:
        yield Impossible("counts", f"{sent:,} sent is not {received:,} received + {lost:,} lost")
    for name in ("sent", "received"):
        if result.get(f"{name}_total", result[name]) < result[name]:
            yield Impossible("counts", f"{name}_total is less than {name}")


def _ascending(name: str, summary: Mapping[str, Any]) -> Iterator[Impossible]:
    known = [(key, summary[key]) for key in _ASCENDING if summary.get(key) is not None]
    for (low, below), (high, above) in pairwise(known):
        if below > above:
            yield Impossible("order", f"{name}: {low} of {below:,} ns is above {high} of {above:,} ns")
    mean = summary.get("mean")
    if mean is not None and known and not known[0][1] <= mean <= known[-1][1]:
        yield Impossible("order", f"{name}: the mean of {mean:,.0f} ns lies outside minimum and maximum")


def _closed_loop(clients: int, result: Mapping[str, Any], witness: Witness | None) -> Iterator[Impossible]:
    """Little's law for a measured closed loop; unlike a printed table it has edges and a client that takes
    time.

    Above 1 is impossible but for messages that straddle an edge of the measured windows: one a client and
    window, the longest ones at worst (mean ones, where there are no samples). Below 1 is the client's own
    time between an answer and the next message, and so only suspicious when it is most of the time.
    """
    mean_ns = (result.get("latency_from_send_ns") or result["latency_ns"]).get("mean")
    if not result.get("measured_ns") or mean_ns is None:
        return
    edge_ns = witness.edge_ns if witness else mean_ns * straddling(clients, result)
    edge = edge_ns / result["measured_ns"] / clients
    share = littles_law(result["round_trips_per_s"], mean_ns, clients)
    numbers = (
        f"{result['round_trips_per_s']:,.0f}/s × {mean_ns / 1e3:,.1f} µs = {share * clients:.3g} messages "
        f"under way, but {clients} can be"
    )
    if share > 1 + LITTLE_TOLERANCE + edge:
        yield Impossible("littles_law", numbers)
    elif share < IDLE_SHARE - edge:
        yield Impossible("littles_law", f"{numbers}: the client idled or messages are missing")


def _witnessed(load: Load, result: Mapping[str, Any], witness: Witness) -> Iterator[Impossible]:
    if witness.backwards:
        yield Impossible("time_order", f"{witness.backwards:,} messages were received before they were sent")
    if witness.count > result["received"] or (witness.complete and witness.count != result["received"]):
        yield Impossible(
            "samples", f"{witness.count:,} samples stand beside {result['received']:,} received messages"
        )
    summary = result["latency_ns"]
    if witness.complete and witness.count == summary.get("count"):
        for name, own in (("p50", witness.p50_ns), ("p99", witness.p99_ns)):
            if summary.get(name) is not None and own is not None and summary[name] != own:
                yield Impossible(
                    "samples", f"{name} is {summary[name]:,} ns by the engine, {own:,} ns by its samples"
                )
    if isinstance(load.pacer, Closed) and result.get("measured_ns"):
        under_way = messages_under_way(load)
        most_ns = result["measured_ns"] * under_way * (1 + LITTLE_TOLERANCE) + witness.edge_ns
        if witness.waits_ns > most_ns:
            yield Impossible(
                "waits",
                f"{witness.waits_ns / 1e9:.3g} s of waiting do not fit into "
                f"{result['measured_ns'] / 1e9:.3g} s with {under_way} messages under way",
            )
