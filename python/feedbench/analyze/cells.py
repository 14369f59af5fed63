"""One cell over all its blocks: what stands in the report's table, and what the comparisons go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from feedbench.analyze import quantiles
from feedbench.analyze.blocks import BlockValues, read_block
from feedbench.analyze.ceiling import ceiling_share, is_generator_bound
from feedbench.analyze.evidence import CellBlock, Evidence, Json
from feedbench.analyze.impossible import check_cell, messages_under_way, straddling
from feedbench.analyze.intervals import lower_median, median_interval
from feedbench.analyze.options import options_in_force
from feedbench.analyze.warmup import Course, classify_block, classify_cell, without_machine
from feedbench.findings import CellFinding, Estimate, ImpossibleFinding
from feedbench.findings.cell import WarmupClass
from feedbench.plan import Cell
from feedbench.samples import Nanoseconds

_COUNTS = ("sent", "received", "lost", "duplicated", "out_of_order", "wrong")
_ALWAYS = ("p50", "p99")


@dataclass(frozen=True)
class CellValues:
    """What comparisons need of a cell: per quantile the value of each usable block, and sampled messages."""

    quantiles: Mapping[str, Mapping[int, int]]
    sampled_ns: Mapping[int, Nanoseconds]
    mean_latency_ns: float | None
    round_trips_per_s: float | None


@dataclass(frozen=True)
class MeasuredCell:
    finding: CellFinding
    values: CellValues
    courses: Mapping[int, Course]
    impossible: tuple[ImpossibleFinding, ...]
    cut_short: bool


def measure_cell(evidence: Evidence, cell: Cell, dropped: Collection[int]) -> MeasuredCell:
    """Reads the cell's samples; `dropped`: blocks that failed a gate. Blocks with impossible numbers are left
    out too.
    """
    protocol = evidence.plan.protocol
    load = evidence.plan.condition(cell.condition).load
    names = tuple(dict.fromkeys((*_ALWAYS, *protocol.quantiles)))
    results = evidence.cells[cell.id]
    kept: list[tuple[CellBlock, BlockValues]] = []
    broken: list[ImpossibleFinding] = []
    cut_short = False
    for block, result in results.items():
        if block in dropped or not result.usable or result.load is None:
            continue
        straddlers = straddling(messages_under_way(load), result.load)
        values = read_block(result, names, straddling=straddlers)
        laws = list(check_cell(load, result.load, values.witness if values else None))
        broken += [ImpossibleFinding(cell.id, law.check, f"block {block}: {law.text}") for law in laws]
        if values is not None and not laws and values.witness.count:
            kept.append((result, values))
        cut_short = cut_short or values is None or values.cut_short
    pooled = _pool([values.latency_ns for _, values in kept])
    same = all(values.latency_from_send_ns is values.latency_ns for _, values in kept)
    latency = quantiles.summarize(pooled)
    from_send = (
        latency if same else quantiles.summarize(_pool([values.latency_from_send_ns for _, values in kept]))
    )
    throughput = estimate(
        [result.load["round_trips_per_s"] for result, _ in kept if result.load], protocol.confidence
    )
    share = ceiling_share(throughput.value, load, evidence.ceilings) if throughput.value is not None else None
    receipt = evidence.receipts[cell.target]
    finding = CellFinding(
        cell=cell.id,
        target=cell.target,
        copy=cell.copy,
        factors=cell.factors,
        verdicts=dict(Counter(result.verdict for result in results.values())),
        causes=_causes(results.values()),
        blocks=len(kept),
        round_trips_per_s=throughput,
        latency_ns=latency,
        latency_from_send_ns=from_send,
        per_block=tuple(_block_line(result, values) for result, values in kept),
        percentile_curve=tuple(quantiles.percentile_curve(pooled)),
        cpu_ns_per_message=estimate(_cpu_per_message(kept), protocol.confidence),
        memory_per_connection_bytes=_typical(kept, "memory_per_connection_bytes"),
        rss_connected_bytes=_typical(kept, "rss_connected_bytes"),
        ceiling_share=share,
        generator_bound=is_generator_bound(share),
        warmup_class="flat",  # until settle_warmup has seen the other cells of the round
        options=_options(evidence, cell, results.values()),
        version=receipt.get("version"),
        toolchain=receipt.get("toolchain"),
        offered_per_s=_offered_per_s(results.values()),
        **{name: sum(result.load[name] for result, _ in kept if result.load) for name in _COUNTS},
    )
    by_quantile = {
        name: {values.block: value for _, values in kept if (value := values.quantiles[name]) is not None}
        for name in names
    }
    sampled = {values.block: values.sampled_ns for _, values in kept}
    values_of = CellValues(by_quantile, sampled, from_send["mean"], throughput.value)
    courses = {values.block: values.course for _, values in kept}
    return MeasuredCell(finding, values_of, courses, tuple(broken), cut_short)


def _pool(parts: Sequence[Nanoseconds]) -> Nanoseconds:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.uint64)


def estimate(values: Sequence[float], confidence: float) -> Estimate:
    """The median over blocks; its interval needs six of them."""
    return (
        Estimate(lower_median(values), median_interval(values, confidence))
        if values
        else Estimate(None, None)
    )


def _cpu_per_message(kept: Sequence[tuple[CellBlock, BlockValues]]) -> list[float]:
    """CPU of the whole process tree over everything it was sent, warm-up included: the two cover the same
    time.
    """
    found = []
    for result, _ in kept:
        resources, load = result.resources, result.load
        if resources and load and resources.get("cpu_ns") is not None and load.get("sent_total"):
            found.append(resources["cpu_ns"] / load["sent_total"])
    return found


def _typical(kept: Sequence[tuple[CellBlock, BlockValues]], name: str) -> int | None:
    known = [
        value for result, _ in kept if result.resources and (value := result.resources.get(name)) is not None
    ]
    return int(lower_median(known)) if known else None


def _causes(results: Collection[CellBlock]) -> tuple[str, ...]:
    """Each cause once, with the blocks that it struck."""
    blocks: dict[str, list[int]] = {}
    for result in results:
        if result.verdict != "ok":
            blocks.setdefault(f"{result.verdict}: {result.cause}", []).append(result.block)
    return tuple(f"{cause} (block {', '.join(map(str, struck))})" for cause, struck in blocks.items())


def _block_line(result: CellBlock, values: BlockValues) -> dict[str, float | int | None]:
    rate = result.load["round_trips_per_s"] if result.load else None
    return {"block": result.block, **values.quantiles, "round_trips_per_s": rate}


def _offered_per_s(results: Collection[CellBlock]) -> float | None:
    """What the engine was told, the same in all blocks; a share of the capacity has become a rate there."""
    rates = (result.load.get("pacer", {}).get("rate_per_s") for result in results if result.load)
    return next(rates, None)


def _options(evidence: Evidence, cell: Cell, results: Collection[CellBlock]) -> dict[str, str]:
    negotiated: Json = next(
        (result.load["options"] for result in results if result.usable and result.load), {}
    )
    receipt = evidence.receipts[cell.target]
    declared = dict(receipt.get("options") or {})
    if receipt.get("mode"):
        declared["build_mode"] = receipt["mode"]
    return options_in_force(declared, evidence.plan.process(cell.process).knobs, negotiated)


def settle_warmup(cells: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    """The cells of one round with their warm-up classes judged anew, block by block, without the machine's
    course.
    """
    classes: list[list[WarmupClass]] = [[] for _ in cells]
    for block in sorted({block for cell in cells for block in cell.courses}):
        present = [place for place, cell in enumerate(cells) if block in cell.courses]
        courses = without_machine([cells[place].courses[block] for place in present])
        for place, course in zip(present, courses, strict=True):
            classes[place].append(classify_block(course))
    return [
        replace(cell, finding=replace(cell.finding, warmup_class=classify_cell(own)))
        for cell, own in zip(cells, classes, strict=True)
    ]
