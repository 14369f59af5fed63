"""A run of relays beside the figures of Özmen's study: each process by itself, and waits beside ages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from feedbench.findings import CellFinding, Findings, RelayFinding
from feedbench.papers.quantity import Line, Quantity, Reproduction, row_name
from feedbench.papers.study import Paper, PublishedTable

WAIT, AGE = "as the study took it", "age of the events, p50"
SERVER = "Server"
# A table's library, by the first word of its id; the comparison names it in each row.
LIBRARIES: Mapping[str, str] = {"websockets": "python/websockets", "tornado": "python/tornado"}
TITLES: Mapping[str, tuple[str, int]] = {
    "cpu_percent": ("CPU of the process (%)", 2),
    "memory_mb": ("Memory of the process (MB)", 2),
    "latency": ("“Latency”: waiting in recv (s)", 6),
    "latency_ms": ("“Latency”: waiting in recv (ms)", 3),
    "messages_per_s": ("Messages/s", 2),
}

Measured = tuple[float | None, ...]


def of_relays(paper: Paper, findings: Findings, run: str) -> Reproduction:
    """Every printed cell that this run has something for; copies are not the study's."""
    cells = {cell.cell: cell for cell in findings.cells if cell.copy is None}
    relays = {relay.target: relay for relay in findings.relays if relay.cell in cells}
    quantities = [
        Quantity(
            table=table.id,
            where=table.where,
            column=column,
            title=TITLES[column][0],
            target=", ".join(sorted({_target(table, number) for number in range(len(table.rows))})),
            decimals=TITLES[column][1],
            lines=tuple(
                Line(
                    row_name(table, number),
                    row[column],
                    _measured(column, row_name(table, number), relays.get(_target(table, number)), cells),
                )
                for number, row in enumerate(table.rows)
                if column in row
            ),
        )
        for table in paper.tables
        for column in table.columns
        if column in TITLES
    ]
    return Reproduction(run, (WAIT, AGE), tuple(quantities), tuple(_remarks(relays, cells)))


def _target(table: PublishedTable, number: int) -> str:
    word = table.id.partition("-")[0]
    return LIBRARIES.get(word) or LIBRARIES[row_name(table, number).lower()]


def _measured(
    column: str, row: str, relay: RelayFinding | None, cells: Mapping[str, CellFinding]
) -> Measured:
    """The study's comparison takes the server's CPU and memory, and the client's latency."""
    if relay is None:
        return (None, None)
    process = "subscribers" if row == "Client" else "relay"
    measures = relay.measures
    match column:
        case "cpu_percent":
            return (_scaled(measures.get(f"{process}_cpu_share"), 100), None)
        case "memory_mb":
            return (_scaled(measures.get(f"{process}_rss_bytes"), 1e-6), None)
        case "messages_per_s":
            return (cells[relay.cell].round_trips_per_s.value, None)
        case _ if row == SERVER:
            # What a server's “latency” was is not known: the study's code has no such measurement.
            return (None, None)
        case _:
            unit = 1e-6 if column == "latency_ms" else 1e-9
            wait, age = measures.get("wait_mean_ns"), measures.get("client_p50_ns")
            return (_scaled(wait, unit), _scaled(age, unit))


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _remarks(relays: Mapping[str, RelayFinding], cells: Mapping[str, CellFinding]) -> Iterator[str]:
    for target in LIBRARIES.values():
        relay = relays.get(target)
        if relay is None:
            yield f"{target} was not measured in this run"
            continue
        rate = cells[relay.cell].round_trips_per_s.value
        wait, age = relay.measures.get("wait_mean_ns"), relay.measures.get("client_p50_ns")
        if rate and wait and age:
            yield (
                f"{target}: at {rate:,.1f} messages/s its client waits {wait / 1e6:,.2f} ms for the "
                f"next, which is 1/rate whatever the relay does; its events are {age / 1e6:,.2f} ms old"
            )
    yield (
        "the printed latency of 11.67 ms was waiting time: times 112.85 messages/s and 60.02 s it is 79 s in "
        "a test of 60 s"
    )
