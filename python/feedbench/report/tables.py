"""The report's tables: captions, columns and cells as text, ready for any page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedbench.report.numbers import DASH, count, duration, estimate_words, rate, ratio_words, share, size
from feedbench.report.reading import Cell, Question
from feedbench.report.sentences import (
    condition_words,
    decision_counts,
    gate_words,
    quantile_name,
    quantity_name,
    rank_interval,
    value_words,
    verdict_words,
    warmup_words,
)


@dataclass(frozen=True)
class Table:
    """Text in rows; the first column names the row; `numeric` columns are set flush right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()

    @property
    def prose(self) -> frozenset[int]:
        """Columns that hold sentences: these may wrap, numbers and names may not."""
        return frozenset(
            place
            for row in self.rows
            for place, text in enumerate(row)
            if len(text) > 40 and place not in self.numeric
        )


def rank_table(question: Question) -> Table | None:
    """Who stands where, with the estimates of the declared quantiles; None when there is no ranking."""
    if not question.ranking:
        return None
    rows = []
    for entry in question.ranking:
        estimates = (entry.estimates.get(quantile) for quantile in question.quantiles)
        words = (estimate_words(each.value_ns, each.interval_ns) if each else DASH for each in estimates)
        rows.append(
            (entry.name, rank_interval(entry.rank), str(entry.tier), *words, share(entry.probability_first))
        )
    subject = question.compare.replace("_", " ").capitalize()
    names = tuple(quantile_name(quantile) for quantile in question.quantiles)
    return Table(
        caption=f"Ranks by {quantity_name(question.quantity)}, best first, with 95 % intervals over blocks",
        columns=(subject, "Rank", "Tier", *names, "Chance to be first"),
        rows=tuple(rows),
        numeric=frozenset(range(1, 4 + len(names))),
    )


def decision_table(question: Question) -> Table | None:
    """Every decision with its numbers: what the matrices draw, for those who can't see them."""
    if not question.decisions:
        return None
    rows = tuple(
        (
            f"{decision.pair[0]} / {decision.pair[1]}",
            decision.quantile,
            decision.decision,
            ratio_words(decision.ratio, decision.interval),
            DASH if decision.p_holm is None else f"{decision.p_holm:.3g}",
            DASH if decision.cliffs_delta is None else f"{decision.cliffs_delta:+.2f}",
        )
        for decision in question.decisions
    )
    return Table(
        caption=f"Decisions about pairs: {decision_counts(question)}",
        columns=("Pair", "Quantile", "Decision", "Ratio [95 % interval]", "p (Holm)", "Cliff’s δ"),
        rows=rows,
        numeric=frozenset({3, 4, 5}),
    )


def gate_tables(question: Question) -> list[Table]:
    """The gates' limits and worst values, and the blocks that they dropped."""
    tables = []
    if question.gates:
        gates = tuple(
            (
                gate_words(gate.name),
                "passed" if gate.passed else "failed",
                str(gate.blocks_failed),
                _measure(gate.name, gate.worst),
                _measure(gate.name, gate.limit),
                gate.text,
            )
            for gate in question.gates
        )
        tables.append(
            Table(
                "Gates on the environment, decided without looking at the results",
                ("Gate", "State", "Blocks failed", "Worst", "Limit", "In words"),
                gates,
                frozenset({2, 3, 4}),
            )
        )
    if question.blocks_dropped:
        rows = tuple(
            (
                str(drop.block),
                gate_words(drop.gate),
                _measure(drop.gate, drop.value),
                _measure(drop.gate, drop.limit),
            )
            for drop in question.blocks_dropped
        )
        tables.append(Table("Dropped blocks", ("Block", "Gate", "Value", "Limit"), rows, frozenset({2, 3})))
    return tables


def _measure(gate: str, value: float | None) -> str:
    if gate.endswith("_share"):
        return share(value)
    return DASH if value is None else f"{value:.4g}"


CELL_COLUMNS = (
    "Target",
    "Condition",
    "Verdicts",
    "Round trips",
    "Mean",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "p99.99",
    "Max",
    "CPU/message",
    "Memory/connection",
    "Of ceiling",
    "Messages",
    "Lost",
    "Twice",
    "Out of order",
    "Wrong",
    "Warm-up",
)


def cell_table(cells: Sequence[Cell]) -> Table:
    """Every cell with all that was measured; a dash where nothing stands behind a number."""
    rows = tuple(
        (
            f"{cell.target} ({cell.copy})" if cell.copy else cell.target,
            condition_words(cell.factors) or DASH,
            verdict_words(cell.verdicts),
            rate(cell.round_trips_per_s.value if cell.round_trips_per_s else None),
            *(
                duration(cell.latency_ns.get(key))
                for key in ("mean", "p50", "p90", "p99", "p99.9", "p99.99", "max")
            ),
            duration(cell.cpu_ns_per_message.value if cell.cpu_ns_per_message else None),
            size(cell.memory_per_connection_bytes),
            share(cell.ceiling_share) + (" (generator-bound)" if cell.generator_bound else ""),
            *(
                count(value)
                for value in (cell.received, cell.lost, cell.duplicated, cell.out_of_order, cell.wrong)
            ),
            warmup_words(cell.warmup_class) or DASH,
        )
        for cell in cells
    )
    return Table("Every cell, all blocks together", CELL_COLUMNS, rows, frozenset(range(3, 19)))


def failure_table(cells: Sequence[Cell]) -> Table | None:
    """Cells that did not end well everywhere, with their causes."""
    rows = tuple(
        (
            f"{cell.target} ({cell.copy})" if cell.copy else cell.target,
            condition_words(cell.factors) or DASH,
            verdict_words(cell.verdicts),
            "; ".join(dict.fromkeys(str(cause) for cause in cell.causes)) or DASH,
        )
        for cell in cells
        if any(number and verdict != "ok" for verdict, number in cell.verdicts.items()) or cell.causes
    )
    return Table("What failed, and why", ("Target", "Condition", "Verdicts", "Cause"), rows) if rows else None


def options_table(cells: Sequence[Cell]) -> Table:
    """Version, toolchain and the options in force of each target; one row for each distinct set."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.options))
    rows = dict.fromkeys(
        (
            cell.target,
            cell.version or DASH,
            cell.toolchain or DASH,
            *(value_words(cell.options[name]) if name in cell.options else DASH for name in names),
        )
        for cell in cells
        if cell.copy is None
    )
    return Table(
        "Versions, and options in force",
        ("Target", "Version", "Toolchain", *(n.replace("_", " ") for n in names)),
        tuple(rows),
    )
