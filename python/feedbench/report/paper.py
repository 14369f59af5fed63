"""A study's printed tables beside what this run measured: in its columns, never in one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from feedbench.findings import CellFinding, Estimate
from feedbench.plan import FactorValue
from feedbench.report.figures.clients import client_figures, clients_of
from feedbench.report.figures.figure import Figure
from feedbench.report.figures.series import Series
from feedbench.report.numbers import DASH
from feedbench.report.sentences import condition_words
from feedbench.report.tables import Table

if TYPE_CHECKING:  # it brings in the whole analysis, which only a paper's page needs
    from feedbench.papers import Defect, Paper, PublishedTable, Row


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
class PrintedRow:
    """A row of a published table, to be drawn as a cell is."""

    cell: str
    target: str
    factors: Mapping[str, FactorValue]
    round_trips_per_s: Estimate
    latency_ns: Mapping[str, float | None]
    copy: None = None


@dataclass(frozen=True)
class _Column:
    """A column of a published table: its heading, what it is here, and how many decimals it gets."""

    title: str
    measure: Callable[[CellFinding], float | None]
    decimals: int


def _latency_ms(name: str) -> Callable[[CellFinding], float | None]:
    def measure(cell: CellFinding) -> float | None:
        value = cell.latency_ns.get(name)
        return None if value is None else value / 1e6

    return measure


def _throughput(cell: CellFinding) -> float | None:
    return cell.round_trips_per_s.value


def _throughput_per_client(cell: CellFinding) -> float | None:
    whole = _throughput(cell)
    return None if whole is None else whole / clients_of(cell)


COLUMNS: Mapping[str, _Column] = {
    "clients": _Column("Number of clients", clients_of, 0),
    "total_messages": _Column("Total messages", lambda cell: cell.received, 0),
    "average_ms": _Column("Average latency (ms)", _latency_ms("mean"), 3),
    "min_ms": _Column("Min latency (ms)", _latency_ms("min"), 3),
    "max_ms": _Column("Max latency (ms)", _latency_ms("max"), 2),
    "throughput_per_s": _Column("Throughput (messages/s)", _throughput, 2),
    "throughput_per_client_per_s": _Column("Throughput per client (messages/s)", _throughput_per_client, 2),
}


def paper_section(paper: Paper, cells: Sequence[CellFinding]) -> PaperSection:
    """The printed figures and tables, then this run's for each set of conditions."""
    own = [cell for cell in cells if cell.copy is None]
    printed = [cell for table in paper.tables for cell in _printed_rows(table)]
    return PaperSection(
        title=paper.title,
        source=paper.source,
        defects=[_defect(defect) for defect in paper.defects],
        printed=Group(
            heading="Printed",
            figures=client_figures(printed, Series.of_targets([*own, *printed]), "mean", prefix="printed"),
            tables=[_printed_table(table) for table in paper.tables],
        ),
        measured=[_measured(words, group, _columns(paper)) for words, group in by_conditions(own).items()],
    )


def _defect(defect: Defect) -> str:
    return defect.text + (f" ({defect.experiment} measures what it does)" if defect.experiment else "")


def _columns(paper: Paper) -> list[str]:
    return list(dict.fromkeys(name for table in paper.tables for row in table.rows for name in row))


def by_conditions(cells: Sequence[CellFinding]) -> dict[str, list[CellFinding]]:
    """Cells by the values of all factors but the number of clients, in words."""
    groups: dict[str, list[CellFinding]] = {}
    for cell in cells:
        others = {key: value for key, value in cell.factors.items() if key != "connections"}
        groups.setdefault(condition_words(others), []).append(cell)
    return groups


def _measured(words: str, cells: Sequence[CellFinding], columns: Sequence[str]) -> Group:
    by_target: dict[str, list[CellFinding]] = {}
    for cell in sorted(cells, key=clients_of):
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
    names = list(table.columns)
    rows = tuple(tuple(str(row[name]) if name in row else DASH for name in names) for row in table.rows)
    if table.label:  # its first column is words
        names = [table.label, *names]
        rows = tuple((label, *row) for label, row in zip(table.labels, rows, strict=True))
    return _table(f"Printed: {table.id} ({table.where})", names, rows)


def _measured_table(caption: str, cells: Sequence[CellFinding], names: Sequence[str]) -> Table:
    known = [name for name in names if name in COLUMNS]
    rows = tuple(tuple(_text(COLUMNS[name], cell) for name in known) for cell in cells)
    return _table(caption, known, rows)


def _table(caption: str, names: Sequence[str], rows: tuple[tuple[str, ...], ...]) -> Table:
    titles = tuple(COLUMNS[name].title if name in COLUMNS else name.replace("_", " ") for name in names)
    return Table(caption, titles, rows, frozenset(range(1, len(names))))


def _text(column: _Column, cell: CellFinding) -> str:
    value = column.measure(cell)
    return DASH if value is None else f"{value:.{column.decimals}f}"


def _printed_rows(table: PublishedTable) -> list[PrintedRow]:
    """The rows as cells, drawn as ours are; a target has the colour that it has in ours."""
    return [_printed_row(table.target or table.id, row) for row in table.rows if "clients" in row]


def _printed_row(target: str, row: Row) -> PrintedRow:
    clients = int(row["clients"])
    average = row.get("average_ms")
    throughput = row.get("throughput_per_s")
    return PrintedRow(
        cell=f"printed:{target}:{clients}",
        target=target,
        factors={"connections": clients},
        round_trips_per_s=Estimate(None if throughput is None else float(throughput), None),
        latency_ns={"mean": None if average is None else float(average) * 1e6},
    )
