"""The report's tables: captions, columns and cells as text, ready for any page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedbench.findings import CellFinding, QuestionFinding, TargetFinding
from feedbench.report.numbers import DASH, count, duration, estimate_words, rate, ratio_words, share, size
from feedbench.report.sentences import (
    WARMUPS,
    condition_words,
    decision_counts,
    gate_words,
    quantile_name,
    quantity_name,
    rank_interval,
    value_words,
    verdict_words,
)
from feedbench.verify.conformance import Conformance


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


def rank_table(question: QuestionFinding, conformance: Mapping[str, Conformance]) -> Table | None:
    """Who stands where, with the estimates of the declared quantiles; None when there is no ranking.

    Beside it what each passes of the conformance cases, where that is known: who leaves checks out is faster.
    """
    if not question.ranking:
        return None
    rows = []
    for entry in question.ranking:
        estimates = (entry.estimates.get(quantile) for quantile in question.quantiles)
        words = (estimate_words(each.value_ns, each.interval_ns) if each else DASH for each in estimates)
        rows.append(
            (
                entry.label,
                rank_interval(entry.rank),
                str(entry.tier),
                *words,
                share(entry.probability_first),
                *([str(conformance.get(entry.target, DASH))] if conformance else []),
            )
        )
    subject = question.compare.replace("_", " ").capitalize()
    names = tuple(quantile_name(quantile) for quantile in question.quantiles)
    return Table(
        caption=f"Ranks by {quantity_name(question.quantity)}, best first, with 95 % intervals over blocks",
        columns=(
            subject,
            "Rank",
            "Tier",
            *names,
            "Chance to be first",
            *(["Cases passed"] if conformance else []),
        ),
        rows=tuple(rows),
        numeric=frozenset(range(1, 5 + len(names))),
    )


def conformance_table(conformance: Mapping[str, Conformance]) -> Table | None:
    """What each target passes of the conformance cases, and which it fails; None when nothing is known."""
    rows = tuple(
        (
            target,
            str(known.passed),
            str(known.failed),
            str(known.unsupported),
            ", ".join(known.failing) or DASH,
        )
        for target, known in conformance.items()
    )
    columns = ("Target", "Passed", "Failed", "Unsupported", "Failed cases")
    return (
        Table("Conformance to RFC 6455 and RFC 7692", columns, rows, frozenset({1, 2, 3})) if rows else None
    )


def decision_table(question: QuestionFinding) -> Table | None:
    """Every decision with its numbers: what the matrices draw, for those who can't see them."""
    if not question.decisions:
        return None
    rows = tuple(
        (
            f"{decision.pair[0]} / {decision.pair[1]}",
            decision.quantile,
            decision.outcome,
            ratio_words(decision.comparison.ratio, decision.comparison.interval),
            f"{decision.comparison.p_holm:.3g}",
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


def gate_tables(question: QuestionFinding) -> list[Table]:
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
    "{counted}",
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


def cell_table(cells: Sequence[CellFinding], *, counted: str) -> Table:
    """Every cell with all that was measured; a dash where nothing stands behind a number. `counted` is what
    its rate is a rate of.
    """
    columns = tuple(column.format(counted=counted) for column in CELL_COLUMNS)
    rows = tuple(
        (
            f"{cell.target} ({cell.copy})" if cell.copy else cell.target,
            _condition(cell) or DASH,
            verdict_words(cell.verdicts),
            rate(cell.round_trips_per_s.value),
            *(
                duration(cell.latency_ns.get(key))
                for key in ("mean", "p50", "p90", "p99", "p99.9", "p99.99", "max")
            ),
            duration(cell.cpu_ns_per_message.value),
            size(cell.memory_per_connection_bytes),
            share(cell.ceiling_share) + (" (generator-bound)" if cell.generator_bound else ""),
            *(
                count(value)
                for value in (cell.received, cell.lost, cell.duplicated, cell.out_of_order, cell.wrong)
            ),
            WARMUPS[cell.warmup_class],
        )
        for cell in cells
    )
    return Table("Every cell, all blocks together", columns, rows, frozenset(range(3, 19)))


def _condition(cell: CellFinding) -> str:
    """With the rate of an open loop, unless it stands there as a factor: a share of a capacity does not."""
    words = condition_words(cell.factors)
    if cell.offered_per_s is None or cell.factors.get("rate") == cell.offered_per_s:
        return words
    return ", ".join(filter(None, (words, f"{rate(cell.offered_per_s)} sent")))


def target_table(targets: Sequence[TargetFinding]) -> Table | None:
    """What it takes to have each target; None where a run says nothing of it."""
    if not targets:
        return None
    rows = tuple(
        (
            one.target,
            count(one.source_lines),
            count(one.direct_dependencies),
            count(one.all_dependencies),
            DASH if one.build_seconds is None else f"{one.build_seconds:,.1f} s",
            duration(one.start_up_ns.value),
            size(one.start_rss_bytes),
        )
        for one in targets
    )
    return Table(
        "What each target takes: source lines of its own, libraries, its last build, start to handshake",
        ("Target", "Source lines", "Libraries", "With theirs", "Build", "Start-up", "Memory then"),
        rows,
        frozenset(range(1, 7)),
    )


def failure_table(cells: Sequence[CellFinding]) -> Table | None:
    """Cells that did not end well everywhere, with their causes."""
    rows = tuple(
        (
            f"{cell.target} ({cell.copy})" if cell.copy else cell.target,
            _condition(cell) or DASH,
            verdict_words(cell.verdicts),
            "; ".join(dict.fromkeys(cell.causes)) or DASH,
        )
        for cell in cells
        if any(number and verdict != "ok" for verdict, number in cell.verdicts.items()) or cell.causes
    )
    return Table("What failed, and why", ("Target", "Condition", "Verdicts", "Cause"), rows) if rows else None


def options_table(cells: Sequence[CellFinding]) -> Table:
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
