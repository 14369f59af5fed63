"""A run's own numbers beside the printed ones, cell by cell: each quantity in a table of its own.

No figure mixes the two. Another machine, another day: shapes and ratios can be compared, milliseconds can't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from feedbench.errors import FeedbenchError
from feedbench.findings import CellFinding, Findings, read_findings
from feedbench.papers.quantity import Line, Quantity, Reproduction, row_name
from feedbench.papers.relays import of_relays
from feedbench.papers.study import Paper, PublishedTable, Row
from feedbench.paths import RunDirectory
from feedbench.ramp.averages import Target, by_target, connection_s, request_s
from feedbench.ramp.campaign import Campaign, campaign_from_json
from feedbench.ramp.summary import read_repeats
from feedbench.report.paper import COLUMNS, by_conditions

RAMP_DECIMALS = 2


def reproduce(paper: Paper, run: Path) -> Reproduction:
    """FeedbenchError when the run is of another study, or was never analyzed."""
    if (run / "ramp.json").exists():
        campaign = campaign_from_json(run / "ramp.json")
        _same_study(paper, campaign.name, run)
        return _of_ramp(paper, campaign, run)
    findings = read_findings(RunDirectory(run).findings)
    _same_study(paper, findings.scenario, run)
    return _of_findings(paper, findings, run.name)


def study_of(run: Path) -> str:
    """The name of the study that the run's scenario plays; FeedbenchError when it was never analyzed."""
    if (run / "ramp.json").exists():
        return _study_named(campaign_from_json(run / "ramp.json").name)
    return _study_named(read_findings(RunDirectory(run).findings).scenario)


def _study_named(scenario: str) -> str:
    """`salih-quick` is of Salih's study, too."""
    return scenario.partition("-")[0]


def _same_study(paper: Paper, scenario: str, run: Path) -> None:
    if _study_named(scenario) != paper.name:
        raise FeedbenchError(
            f'this is a run of "{scenario}", not of the study "{paper.name}"',
            where=str(run),
            hint=f"feedbench run scenarios/papers/{paper.name}.toml",
        )


def _of_findings(paper: Paper, findings: Findings, run: str) -> Reproduction:
    if findings.relays:
        return of_relays(paper, findings, run)
    groups = by_conditions([cell for cell in findings.cells if cell.copy is None and cell.blocks])
    measured = {cell.target for group in groups.values() for cell in group}
    quantities = [
        _quantity(
            table,
            column,
            title=COLUMNS[column].title,
            decimals=COLUMNS[column].decimals,
            measure=_cell_measure(table, column, list(groups.values())),
        )
        for table in paper.tables
        if table.target in measured
        for column in table.columns
        if column in COLUMNS and column != "clients"
    ]
    return Reproduction(run, tuple(groups), tuple(quantities), tuple(_remarks(paper, measured)))


def _cell_measure(
    table: PublishedTable, column: str, groups: Sequence[Sequence[CellFinding]]
) -> Callable[[Row], tuple[float | None, ...]]:
    """What each group has for a row: the cell of the table's target with as many clients."""

    def measure(row: Row) -> tuple[float | None, ...]:
        return tuple(
            next(
                (
                    COLUMNS[column].measure(cell)
                    for cell in group
                    if cell.target == table.target and cell.factors.get("connections", 1) == row["clients"]
                ),
                None,
            )
            for group in groups
        )

    return measure


def _quantity(
    table: PublishedTable,
    column: str,
    *,
    title: str,
    decimals: int,
    measure: Callable[[Row], tuple[float | None, ...]],
) -> Quantity:
    lines = tuple(
        Line(row_name(table, number), row[column], measure(row))
        for number, row in enumerate(table.rows)
        if column in row
    )
    return Quantity(table.id, table.where, column, title, table.target, decimals, lines)


# What a ramp has for a column of the study's figures; None where it did not come to the printed load.
_RAMP_MEASURES: Mapping[str, tuple[str, Callable[[Target, Row], float | None]]] = {
    "connection_s": (
        "Connecting all clients (s)",
        lambda target, row: target.total(connection_s).value if _came_to(target, row) else None,
    ),
    "request_min": (
        "All requests (min)",
        lambda target, row: target.total(request_s).value / 60 if _came_to(target, row) else None,
    ),
    "last_round": ("First round that broke", lambda target, row: _first_broken(target)),
    "lost_share_percent": ("Requests lost, of all rounds (%)", lambda target, row: _lost_percent(target)),
}


def _came_to(target: Target, row: Row) -> bool:
    return target.finished and target.most_connections == row["clients"]


def _first_broken(target: Target) -> float | None:
    return min((repeat.broken_round for repeat in target.repeats if repeat.broken_round), default=None)


def _lost_percent(target: Target) -> float:
    rounds = [each for repeat in target.repeats for each in repeat.rounds]
    return 100 * (1 - sum(each.answered for each in rounds) / sum(each.requests for each in rounds))


def _of_ramp(paper: Paper, campaign: Campaign, run: Path) -> Reproduction:
    targets = {target.name: target for target in by_target(read_repeats(campaign, run))}
    quantities = [
        _quantity(
            table,
            column,
            title=_RAMP_MEASURES[column][0],
            decimals=RAMP_DECIMALS,
            measure=_ramp_measure(column, targets[table.target]),
        )
        for table in paper.tables
        if table.target in targets
        for column in table.columns
        if column in _RAMP_MEASURES
    ]
    remarks = [*_short_of_it(paper, targets), *_remarks(paper, set(targets))]
    return Reproduction(run.name, ("",), tuple(quantities), tuple(remarks))


def _ramp_measure(column: str, target: Target) -> Callable[[Row], tuple[float | None, ...]]:
    def measure(row: Row) -> tuple[float | None, ...]:
        return (_RAMP_MEASURES[column][1](target, row),)

    return measure


def _short_of_it(paper: Paper, targets: Mapping[str, Target]) -> Iterator[str]:
    """Totals of a shorter ramp stand for nothing that is printed."""
    for table in paper.tables:
        target = targets.get(table.target)
        printed = max((int(row["clients"]) for row in table.rows if "clients" in row), default=None)
        if target and printed and not all(_came_to(target, row) for row in table.rows):
            reached = f"came to {target.most_connections:,} of the {printed:,} clients printed"
            yield f"{table.target} {reached}, so its totals are not comparable"


def _remarks(paper: Paper, measured: set[str]) -> Iterator[str]:
    for table in paper.tables:
        if table.target and table.target not in measured:
            yield f"{table.id} ({table.where}): {table.target} was not measured in this run"
