"""The tables of k-salih/websockets-benchmark, in its columns: one table for each server, one line for each
client count.

Its text result file is kept too, appended to as there.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedbench.analyze.findings import CellFinding, Findings
from feedbench.analyze.table import Column, Table, as_is, two_decimals
from feedbench.paths import target_id

COLUMNS = (
    Column("clients", "Number of Clients", as_is),
    Column("total_messages", "Total Messages", str),
    Column("average_latency_ms", "Average Latency (ms)", two_decimals),
    Column("min_latency_ms", "Min Latency (ms)", two_decimals),
    Column("max_latency_ms", "Max Latency (ms)", two_decimals),
    Column("throughput_per_s", "Throughput (messages/sec)", two_decimals),
    Column("throughput_per_client_per_s", "Average Throughput per Client (messages/sec)", two_decimals),
)


def salih_tables(findings: Findings) -> list[Table]:
    """One for each target and each value of the factors other than the number of clients."""
    groups: dict[str, list[CellFinding]] = {}
    for cell in findings.cells:
        if cell.copy is None and cell.blocks:
            groups.setdefault(_name(cell), []).append(cell)
    return [
        Table(
            name=name,
            caption=f"{cells[0].target}, as in the study",
            columns=COLUMNS,
            rows=tuple(_row(cell) for cell in sorted(cells, key=_clients)),
        )
        for name, cells in groups.items()
    ]


def text_results(findings: Findings) -> str:
    """The study's text file: a paragraph for each table and line."""
    return "\n".join(_paragraphs(findings)) + "\n"


def _paragraphs(findings: Findings) -> Iterator[str]:
    yield f"=== {findings.run} ==="
    for table in salih_tables(findings):
        yield f"\n--- {table.name.removeprefix('salih-')} ---"
        for row in table.shown():
            yield ""
            yield from (f"{column.title}: {value}" for column, value in zip(table.columns, row, strict=True))


def _row(cell: CellFinding) -> tuple[float | int | None, ...]:
    rate, clients = cell.round_trips_per_s.value, _clients(cell)
    latency = (cell.latency_ns[name] for name in ("mean", "min", "max"))
    return (
        clients,
        cell.counts["received"],
        *(value / 1e6 for value in latency),
        rate,
        rate / clients if rate is not None else None,
    )


def _clients(cell: CellFinding) -> int:
    return int(cell.factors.get("connections", 1))


def _name(cell: CellFinding) -> str:
    """`salih-python-websockets`, then the values of the other factors."""
    others = [f"{key}={value}" for key, value in cell.factors.items() if key != "connections"]
    return "-".join(["salih", target_id(cell.target), *(part.replace("/", "-") for part in others)])
