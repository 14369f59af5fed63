"""A study's printed tables beside what this run measured: in its columns, never in one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from feedbench.report.figures.clients import client_figures
from feedbench.report.figures.figure import Figure
from feedbench.report.figures.series import Series
from feedbench.report.numbers import DASH
from feedbench.report.reading import Cell, Estimate
from feedbench.report.sentences import condition_words
from feedbench.report.tables import Table

if TYPE_CHECKING:  # it brings in the whole analysis, which only a paper's page needs
    from feedbench.papers import Paper, PublishedTable, Row


@dataclass(frozen=True)
class Group:
    """Figures and tables of one source: the paper, or one set of conditions of this run."""

    heading: str
    figures: list[Figure]
    tables: list[Table]


@dataclass(frozen=True)
class PaperSection:
    title: str
    source: str
    defects: list[str]
    printed: Group
    measured: list[Group]


@dataclass(frozen=True)
class _Column:
    """A column of a published table: its heading, what it is here, and how many decimals it gets."""

    title: str
    measure: Callable[[Cell], float | None]
    decimals: int


def _latency_ms(name: str) -> Callable[[Cell], float | None]:
    def measure(cell: Cell) -> float | None:
        value = cell.latency_ns.get(name)
        return None if value is None else value / 1e6

    return measure


def _throughput(cell: Cell) -> float | None:
    return cell.round_trips_per_s.value if cell.round_trips_per_s else None


def _throughput_per_client(cell: Cell) -> float | None:
    whole = _throughput(cell)
    return None if whole is None else whole / _clients(cell)


def _clients(cell: Cell) -> int:
    return int(cell.factors.get("connections", 1))


COLUMNS: Mapping[str, _Column] = {
    "clients": _Column("Number of clients", _clients, 0),
    "total_messages": _Column("Total messages", lambda cell: cell.received, 0),
    "average_ms": _Column("Average latency (ms)", _latency_ms("mean"), 3),
    "min_ms": _Column("Min latency (ms)", _latency_ms("min"), 3),
    "max_ms": _Column("Max latency (ms)", _latency_ms("max"), 2),
    "throughput_per_s": _Column("Throughput (messages/s)", _throughput, 2),
    "throughput_per_client_per_s": _Column("Throughput per client (messages/s)", _throughput_per_client, 2),
}


def paper_section(paper: Paper, cells: Sequence[Cell]) -> PaperSection:
    """The printed figures and tables, then this run's for each set of conditions."""
    own = [cell for cell in cells if cell.copy is None]
    targets = list(dict.fromkeys(cell.target for cell in own))
    printed = [cell for table in paper.tables for cell in _printed_cells(table, targets)]
    return PaperSection(
        title=paper.title,
        source=paper.source,
        defects=[defect.text for defect in paper.defects],
        printed=Group(
            heading="Printed",
            figures=client_figures(printed, Series.of_targets([*own, *printed]), "mean", prefix="printed"),
            tables=[_printed_table(table) for table in paper.tables],
        ),
        measured=[_measured(words, group, _columns(paper)) for words, group in _by_conditions(own).items()],
    )


def _columns(paper: Paper) -> list[str]:
    return list(dict.fromkeys(name for table in paper.tables for row in table.rows for name in row))


def _by_conditions(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        others = {key: value for key, value in cell.factors.items() if key != "connections"}
        groups.setdefault(condition_words(others), []).append(cell)
    return groups


def _measured(words: str, cells: Sequence[Cell], columns: Sequence[str]) -> Group:
    by_target: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=_clients):
        by_target.setdefault(cell.target, []).append(cell)
    suffix = f", {words}" if words else ""
    return Group(
        heading=f"Measured here{suffix}",
        figures=client_figures(cells, Series.of_targets(cells), "mean"),
        tables=[_measured_table(f"Measured here: {target}{suffix}", group, columns)
                for target, group in by_target.items()],
    )  # fmt: skip


def _printed_table(table: PublishedTable) -> Table:
    """Every value with the digits that the paper prints."""
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    rows = tuple(tuple(str(row[name]) if name in row else DASH for name in names) for row in table.rows)
    return _table(f"Printed: {table.id} ({table.where})", names, rows)


def _measured_table(caption: str, cells: Sequence[Cell], names: Sequence[str]) -> Table:
    known = [name for name in names if name in COLUMNS]
    rows = tuple(tuple(_text(COLUMNS[name], cell) for name in known) for cell in cells)
    return _table(caption, known, rows)


def _table(caption: str, names: Sequence[str], rows: tuple[tuple[str, ...], ...]) -> Table:
    titles = tuple(COLUMNS[name].title if name in COLUMNS else name.replace("_", " ") for name in names)
    return Table(caption, titles, rows, frozenset(range(1, len(names))))


def _text(column: _Column, cell: Cell) -> str:
    value = column.measure(cell)
    return DASH if value is None else f"{value:.{column.decimals}f}"


def _printed_cells(table: PublishedTable, targets: Sequence[str]) -> list[Cell]:
    """The rows as cells, drawn as ours are; a target has the colour that it has in ours."""
    target = next((name for name in targets if name.rpartition("/")[2] == table.id), table.id)
    return [_printed_cell(target, row) for row in table.rows if "clients" in row]


def _printed_cell(target: str, row: Row) -> Cell:
    clients = int(row["clients"])
    average = row.get("average_ms")
    throughput = row.get("throughput_per_s")
    return Cell(
        cell=f"printed:{target}:{clients}",
        target=target,
        copy=None,
        factors={"connections": clients},
        verdicts={},
        causes=(),
        round_trips_per_s=None if throughput is None else Estimate(float(throughput)),
        latency_ns={} if average is None else {"mean": float(average) * 1e6},
        per_block=(),
        percentile_curve=(),
    )
