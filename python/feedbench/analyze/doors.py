"""What came through each door: the quantities of every client of an exchange, kept apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from feedbench.analyze.cells import estimate
from feedbench.analyze.evidence import Evidence, Json
from feedbench.analyze.intervals import lower_median
from feedbench.findings.cell import Estimate
from feedbench.findings.door import DoorFinding, PollingFinding
from feedbench.plan import Cell
from feedbench.spelling import spelled

PARSE = "parse"
Number = float | int

# By cell id, then block: load.json and resources.json of what was usable.
Kept = Mapping[str, Mapping[int, tuple[Json, Json]]]


def find_doors(evidence: Evidence, dropped: Mapping[str, Collection[int]]) -> tuple[DoorFinding, ...]:
    """One for each cell; none unless the run had several doors or several exchanges. `dropped`: by round, the
    blocks that failed a gate.
    """
    plan = evidence.plan
    if not plan.is_of_feeds:
        return ()
    kept = {
        cell.id: _kept(evidence, cell, dropped[evidence.round_of(cell.id).id])
        for cell in plan.cells
        if cell.copy is None
    }
    found = [_finding(evidence, plan.cell(name), kept) for name in kept if kept[name]]
    several = len({entry.door for entry in found}) > 1 or len({entry.exchange for entry in found}) > 1
    return tuple(found) if several else ()


def _kept(evidence: Evidence, cell: Cell, dropped: Collection[int]) -> dict[int, tuple[Json, Json]]:
    return {
        block: (result.load, result.resources or {})
        for block, result in evidence.cells[cell.id].items()
        if result.usable and result.load is not None and block not in dropped
    }


def _finding(evidence: Evidence, cell: Cell, kept: Kept) -> DoorFinding:
    blocks = kept[cell.id]
    feed = evidence.plan.condition(cell.condition).load.feed
    assert feed is not None, "the plan is of feeds"
    confidence = evidence.plan.protocol.confidence

    def over(value: Callable[[Json], Number | None]) -> Estimate:
        values = [found for load, _ in blocks.values() if (found := value(load)) is not None]
        return estimate(values, confidence)

    first = next(iter(blocks.values()))[0]
    return DoorFinding(
        cell=cell.id,
        target=cell.target,
        door=first.get("door", "ws"),
        exchange=feed.exchange,
        factors=cell.factors,
        age_ns=over(lambda load: _median(load, "latency_ns")),
        batch_ns=over(lambda load: _median(load, "lateness_ns")),
        message_bytes=over(lambda load: load.get("message_bytes")),
        wire_bytes=over(lambda load: load.get("wire_bytes")),
        cpu_ns=estimate([value for value in map(_cpu_ns, blocks.values()) if value is not None], confidence),
        parse_ns=_parse_ns(evidence, cell, kept),
        polling=_polling([load for load, _ in blocks.values()], over),
    )


def _median(load: Json, name: str) -> int | None:
    value: int | None = (load.get(name) or {}).get("p50")
    return value


def _cpu_ns(result: tuple[Json, Json]) -> float | None:
    """A message's: CPU time and messages of the same time, warm-up included."""
    load, resources = result
    if resources.get("cpu_ns") is None or not load.get("received_total"):
        return None
    return float(resources["cpu_ns"] / load["received_total"])


def _parse_ns(evidence: Evidence, cell: Cell, kept: Kept) -> Estimate:
    """What decoding adds to a message's CPU time: block by block, beside the same client without it."""
    nothing = Estimate(None, None)
    if spelled(cell.factors.get(PARSE, "")) != "on":
        return nothing
    others = {**cell.factors, PARSE: "off"}
    plain = next(
        (
            other.id
            for other in evidence.plan.cells
            if other.target == cell.target and other.copy is None and dict(other.factors) == others
        ),
        None,
    )
    if plain is None or plain not in kept:
        return nothing
    both = sorted(kept[cell.id].keys() & kept[plain].keys())
    pairs = [(_cpu_ns(kept[cell.id][block]), _cpu_ns(kept[plain][block])) for block in both]
    added = [with_it - without for with_it, without in pairs if with_it is not None and without is not None]
    return estimate(added, evidence.plan.protocol.confidence)


def _polling(
    loads: list[Json], over: Callable[[Callable[[Json], Number | None]], Estimate]
) -> PollingFinding | None:
    polled = [load["polling"] for load in loads if load.get("polling")]
    if not polled:
        return None
    low, high = (lower_median([one["expected_ns"][end] for one in polled]) for end in (0, 1))
    return PollingFinding(
        interval_ns=polled[0]["interval_ns"],
        mean_age_ns=over(lambda load: sum(load["polling"]["age_ns"]) / 2),
        law_ns=(low, high),
        blocks=len(polled),
        blocks_held=sum(_overlap(one["age_ns"], one["expected_ns"]) for one in polled),
        round_trip_ns=over(lambda load: _median(load["polling"], "round_trip_ns")),
        polling_delay_ns=over(lambda load: _median(load["polling"], "polling_delay_ns")),
    )


def _overlap(one: list[float], other: list[float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
