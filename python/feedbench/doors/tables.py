"""Tables I to V in the paper's layout, from records; each as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from feedbench.analyze.table import Column, Table
from feedbench.analyze.tables import WRITERS
from feedbench.doors.record import PROTOCOLS, LatencyRecord, Protocol
from feedbench.doors.statistics import Summary, summarise

SHORT: Mapping[Protocol, str] = {"FIX": "FIX", "REST": "REST", "WebSocket": "WS"}
COMPARED = {"FIX": "rtt", "REST": "ticker", "WebSocket": "ticker"}  # the event type of the paper's tables

# Table V is the authors' judgement, not a measurement: printed as it stands there.
QUALITATIVE = (
    ("Latency", "Medium", "Medium-High", "Very Low"),
    ("Complexity", "Low", "Medium", "High"),
    ("Infra Cost", "Low", "Medium", "High"),
    ("Reliability", "High", "Medium", "Very High"),
    ("Accessibility", "Universal", "High", "Limited"),
)


def compared(records: Sequence[LatencyRecord]) -> dict[Protocol, list[LatencyRecord]]:
    """The records that the paper's tables are about, by protocol in its order."""
    groups = {
        protocol: [
            each for each in records if (each.protocol, each.event_type) == (protocol, COMPARED[protocol])
        ]
        for protocol in PROTOCOLS
    }
    return {protocol: members for protocol, members in groups.items() if members}


def paper_tables(campaigns: Mapping[str, Sequence[LatencyRecord]]) -> list[Table]:
    """One for each campaign in their order, then percentiles across them, then the qualitative one."""
    summaries = {
        name: {protocol: summarise(members) for protocol, members in compared(records).items()}
        for name, records in campaigns.items()
    }
    tables = [
        _campaign_table(number, name, summary)
        for number, (name, summary) in enumerate(summaries.items(), start=1)
    ]
    across = _across_table(len(tables) + 1, summaries)
    return [*tables, across, _qualitative_table(len(tables) + 2)]


def write_tables(folder: Path, tables: Sequence[Table]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for suffix, write in WRITERS.items():
            (folder / f"{table.name}.{suffix}").write_text(write(table), encoding="utf-8")


def _milliseconds(value: float) -> str:
    """Four significant digits, as many as the paper prints at most."""
    return f"{value:.4g}" if abs(value) < 1_000 else f"{value:,.0f}"


def _campaign_table(number: int, name: str, summaries: Mapping[Protocol, Summary]) -> Table:
    columns = (
        Column("protocol", "Protocol"),
        Column("count", "Count", str),
        Column("mean_ms", "Mean", _milliseconds),
        Column("std_ms", "Std", _milliseconds),
        *(Column(f"{rank}_ms", rank.upper(), _milliseconds) for rank in ("p50", "p90", "p99")),
        Column("skewness", "Skew", lambda value: f"{value:.3g}"),
    )
    rows = tuple(
        (
            SHORT[protocol],
            summary.count,
            summary.mean_ms,
            summary.std_ms,
            *(summary.percentiles_ms[rank] for rank in ("p50", "p90", "p99")),
            summary.skewness,
        )
        for protocol, summary in summaries.items()
    )
    caption = (
        f"Campaign of {name}, milliseconds. FIX and REST: half a round trip. WS: event age at receipt. "
        "These are different quantities."
    )
    return Table(f"table-{number}", caption, columns, rows)


def _across_table(number: int, summaries: Mapping[str, Mapping[Protocol, Summary]]) -> Table:
    columns = (
        Column("protocol", "Protocol"),
        Column("metric", "Metric"),
        *(Column(f"{name}_ms", name, _milliseconds) for name in summaries),
    )
    rows = tuple(
        (
            SHORT[protocol] if rank == "p50" else None,
            rank.upper(),
            *(
                summary[protocol].percentiles_ms[rank] if protocol in summary else None
                for summary in summaries.values()
            ),
        )
        for protocol in PROTOCOLS
        if any(protocol in summary for summary in summaries.values())
        for rank in ("p50", "p90", "p99")
    )
    return Table(f"table-{number}", "Percentiles across durations, milliseconds.", columns, rows)


def _qualitative_table(number: int) -> Table:
    columns = tuple(Column(name.lower(), name) for name in ("Aspect", "REST", "WebSocket", "FIX"))
    caption = (
        "Qualitative comparison as the authors print it (their Table V): a judgement, not measured here."
    )
    return Table(f"table-{number}", caption, columns, QUALITATIVE)
