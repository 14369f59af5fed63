"""The section of a run of relays: what each hop and process took, and what became of a planted fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedbench.findings import Findings, RelayFinding
from feedbench.findings.relay import MEASURES, measures_of
from feedbench.report.numbers import DASH, count, duration, share, size
from feedbench.report.sentences import joined
from feedbench.report.tables import Table

HOPS = ("direct", "entrance", "inside", "client", "skew")


@dataclass(frozen=True)
class RelaySection:
    """What is said in words, then the tables."""

    sentences: list[str]
    tables: list[Table]


def relay_section(findings: Findings) -> RelaySection | None:
    """None where no relay was measured."""
    relays = findings.relays
    if not relays:
        return None
    names = measures_of(relays)
    hops = [name for name in names if name.split("_")[0] in HOPS]
    others = [name for name in names if name not in hops]
    tables = [
        _table("Hops, over all clients: medians over blocks", relays, hops),
        _table("Each process by itself, and the faults: medians over blocks", relays, others),
    ]
    return RelaySection(relay_sentences(findings), tables)


def _table(caption: str, relays: Sequence[RelayFinding], names: Sequence[str]) -> Table:
    rows = tuple((relay.cell, *(_words(relay, name) for name in names)) for relay in relays)
    columns = ("Cell", *(MEASURES[name][0] for name in names))
    return Table(caption, columns, rows, frozenset(range(1, len(columns))))


def _words(relay: RelayFinding, name: str) -> str:
    value = relay.measures.get(name)
    if value is None:
        return DASH
    match MEASURES[name][1]:
        case "ns":
            return duration(value)
        case "bytes":
            return size(value)
        case "share":
            return share(value)
        case "count":
            return count(value)


def relay_sentences(findings: Findings) -> list[str]:
    """What the faults showed."""
    return [*_slow_consumer(findings), *_storm(findings.relays), *_upstream_loss(findings.relays)]


def _slow_consumer(findings: Findings) -> list[str]:
    """Whom one slow client moved: decided as any other comparison is."""
    moved: list[str] = []
    unmoved: list[str] = []
    open_: list[str] = []
    for question in findings.questions:
        if question.compare != "fault":
            continue
        target = str(question.fixed.get("target"))
        outcomes = [
            decision.comparison.outcome for decision in question.decisions if decision.quantile == "p99"
        ]
        if "different" in outcomes:
            moved.append(target)
        elif outcomes:
            (unmoved if set(outcomes) == {"equivalent"} else open_).append(target)
    told = []
    if moved:
        told.append(f"One client that stopped reading moved the others' p99 in {joined(moved)}.")
    if unmoved:
        told.append(f"It did not move them in {joined(unmoved)}.")
    if open_:
        told.append(f"No more than the noise was shown in {joined(open_)}.")
    policies = [
        f"{relay.target}: {words}" for relay in findings.relays if (words := relay.policy_words) is not None
    ]
    if policies:
        told.append(f"What the relays did with it, by blocks: {'; '.join(policies)}.")
    return told


def _storm(relays: Sequence[RelayFinding]) -> list[str]:
    told = []
    for relay in relays:
        if relay.fault == "storm":
            back_ns = relay.measures.get("all_back_ns")
            words = "never came back" if back_ns is None else f"were back after {back_ns / 1e6:,.1f} ms"
            told.append(f"{relay.cell}: all {count(relay.clients)} clients {words}.")
    return told


def _upstream_loss(relays: Sequence[RelayFinding]) -> list[str]:
    told = []
    for relay in relays:
        if relay.resumed is None:
            continue
        gap_ns = relay.measures.get("longest_gap_ns") or 0
        missed = relay.measures.get("missed") or 0
        told.append(
            f"{relay.cell}: went on in {relay.resumed} of {relay.blocks} blocks; {missed:,.0f} events are "
            f"missing, the longest gap is {gap_ns / 1e6:,.0f} ms; nothing came twice or out of order."
        )
    return told
