"""Our cells beside the paper's printed ones, cell by cell: never in one column, never in one mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from feedbench.analyze.table import Column, Table, number
from feedbench.papers.scores import METRICS
from feedbench.papers.study import Paper
from feedbench.papers.table_checks import METRIC_ROWS
from feedbench.pipeline.study import Study, five_numbers
from feedbench.pipeline.tables import PRINTED_TABLE

# The paper's columns, and the targets that stand for them: the library itself first, then the nearest.
STAND_INS: Mapping[str, tuple[str, ...]] = {
    "C++": ("cpp-uwebsockets", "cpp-uws", "cpp-boost-beast"),
    "Go": ("go-gorilla",),
    "Java": ("java-java-websocket",),
    "JavaScript": ("node-ws",),
    "PHP": ("php-php-wss", "php-ratchet", "php-reactphp"),
    "Python": ("python-websockets",),
}

Cell = tuple[str, str, float, Decimal]  # row, client, ours, printed


def beside_tables(study: Study, paper: Paper) -> list[Table]:
    """For each of tables 8–12 that has something to stand beside."""
    clients = stand_ins(study.clients())
    tables = []
    for exchange in study.exchanges:
        place = PRINTED_TABLE.get(exchange.exchange)
        ours = five_numbers(exchange, "whiskers")
        if place is None or not ours:
            continue
        values = {
            METRIC_ROWS[metric]: {name: float(getattr(each, metric)) for name, each in ours.items()}
            for metric in METRICS
        }
        tables.append(_table(place, exchange.exchange, "ms", values, clients, paper))
    if scoring := study.scoring("whiskers"):
        scores = scoring.scores
        metrics = {METRIC_ROWS[metric]: _floats(scores.metrics[metric]) for metric in METRICS}
        tables.append(_table(11, "metric-scores", "score", metrics, clients, paper))
        tables.append(
            _table(12, "final-score", "score", {"Final Score": _floats(scores.final)}, clients, paper)
        )
    return [table for table in tables if table.rows]


def stand_ins(clients: list[str]) -> dict[str, str]:
    """Of our clients, by the paper's column."""
    found = {}
    for column, candidates in STAND_INS.items():
        present = next((name for name in candidates if name in clients), None)
        if present:
            found[column] = present
    return found


def _table(
    place: int,
    what: str,
    unit: str,
    values: Mapping[str, Mapping[str, float]],
    clients: Mapping[str, str],
    paper: Paper,
) -> Table:
    printed = paper.table(f"table{place}")
    rows = tuple(_rows(values, clients, printed.by_label()))
    columns = (
        Column("metric", "Metric"),
        Column("paper_column", "Paper's column"),
        Column("client", "Our client"),
        Column(f"measured_{unit}", f"Measured ({unit})", number),
        Column(f"printed_{unit}", f"Printed ({unit})"),
    )
    caption = (
        f"Measured here, and printed in {printed.where} of {paper.source}: other hosts, other exchanges, "
        "another year. The order of clients may be compared, the numbers may not."
    )
    return Table(f"beside-{place:02}-{what}", caption, columns, rows)


def _rows(
    values: Mapping[str, Mapping[str, float]],
    clients: Mapping[str, str],
    printed: Mapping[str, Mapping[str, Decimal]],
) -> Iterator[tuple[str, str, str, float, Decimal]]:
    for metric, ours in values.items():
        for column, client in clients.items():
            if client in ours:
                yield metric, column, client, ours[client], printed[metric][column]


def _floats(values: Mapping[str, Decimal]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
