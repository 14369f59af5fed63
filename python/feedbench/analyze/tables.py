"""Tables of a run, each as CSV (exact, units in the names), Markdown and LaTeX (rounded, for people)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from feedbench.analyze.relays import relays_table
from feedbench.analyze.salih import salih_tables, text_results
from feedbench.analyze.table import Column, Table, microseconds, number, percent
from feedbench.errors import RunDirectoryError
from feedbench.findings import CellFinding, Decision, Findings, QuestionFinding, Ranked, TargetFinding
from feedbench.paths import RunDirectory


def write_tables(run: RunDirectory, findings: Findings) -> None:
    """Into tables/; RunDirectoryError when it can't be written."""
    tables = [
        ranking_table(findings),
        decisions_table(findings),
        cells_table(findings),
        targets_table(findings),
    ]
    if findings.relays:
        tables.append(relays_table(findings.relays))
    if findings.scenario.startswith("salih"):
        tables += salih_tables(findings)
    try:
        run.tables.mkdir(parents=True, exist_ok=True)
        for table in tables:
            for suffix, write in WRITERS.items():
                (run.tables / f"{table.name}.{suffix}").write_text(write(table), encoding="utf-8")
        if findings.scenario.startswith("salih"):
            _append_once(run.tables / "results.txt", text_results(findings))
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write the tables: {error.strerror}", where=str(run.tables), hint="is the disk full?"
        ) from error


def ranking_table(findings: Findings) -> Table:
    """A line for each ranked target of each question; a withheld ranking is a line with its reason."""
    quantiles = _quantiles(findings)
    columns = (
        Column("question", "Question"),
        Column("rank_from", "Rank from"),
        Column("rank_to", "to"),
        Column("tier", "Tier"),
        Column("target", "Target"),
        *(
            column
            for name in quantiles
            for column in (
                Column(f"{name}_ns", f"{name} (µs)", microseconds),
                Column(f"{name}_low_ns", "from", microseconds),
                Column(f"{name}_high_ns", "to", microseconds),
            )
        ),
        Column("probability_first", "P(first)", percent),
        Column("withheld", "Withheld"),
    )
    rows = [row for question in findings.questions for row in _ranking_rows(question, quantiles)]
    return Table(
        "ranking", "Ranks as intervals; targets of one tier were not told apart.", columns, tuple(rows)
    )


def decisions_table(findings: Findings) -> Table:
    columns = (
        Column("question", "Question"),
        Column("quantile", "Quantile"),
        Column("first", "First"),
        Column("second", "Second"),
        Column("decision", "Decision"),
        Column("ratio", "First/second", number),
        Column("low", "from", number),
        Column("high", "to", number),
        Column("p", "p", number),
        Column("p_holm", "p (Holm)", number),
        Column("margin", "Margin", number),
        Column("blocks", "Blocks"),
        Column("cliffs_delta", "Cliff's δ", number),
    )
    rows = [
        _decision_row(question.id, decision)
        for question in findings.questions
        for decision in question.decisions
    ]
    return Table("decisions", "Decisions about each pair, from one log ratio a block.", columns, tuple(rows))


def cells_table(findings: Findings) -> Table:
    rate = "Events/s" if findings.is_of_feeds else "Round trips/s"
    names = ("min", "mean", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max")
    columns: tuple[tuple[Column, Callable[[CellFinding], Any]], ...] = (
        (Column("cell", "Cell"), lambda cell: cell.cell),
        (Column("target", "Target"), lambda cell: cell.target),
        (Column("version", "Version"), lambda cell: cell.version),
        (Column("blocks", "Blocks"), lambda cell: cell.blocks),
        (Column("round_trips_per_s", rate, number), lambda cell: cell.round_trips_per_s.value),
        *((Column(f"{name}_ns", f"{name} (µs)", microseconds), _latency(name)) for name in names),
        (Column("count", "Messages"), _latency("count")),
        (Column("lost", "Lost"), lambda cell: cell.lost),
        (
            Column("cpu_ns_per_message", "CPU/message (µs)", microseconds),
            lambda cell: cell.cpu_ns_per_message.value,
        ),
        (
            Column("memory_per_connection_bytes", "Bytes/connection"),
            lambda cell: cell.memory_per_connection_bytes,
        ),
        (Column("rss_connected_bytes", "Resident bytes"), lambda cell: cell.rss_connected_bytes),
        (Column("ceiling_share", "Share of ceiling", percent), lambda cell: cell.ceiling_share),
        (Column("warmup_class", "Warm-up"), lambda cell: cell.warmup_class),
    )
    rows = tuple(tuple(value(cell) for _, value in columns) for cell in findings.cells)
    return Table(
        "cells", "Each cell over all its usable blocks.", tuple(column for column, _ in columns), rows
    )


def targets_table(findings: Findings) -> Table:
    """What it takes to have each target, for beside the ranking."""
    columns: tuple[tuple[Column, Callable[[TargetFinding], Any]], ...] = (
        (Column("target", "Target"), lambda one: one.target),
        (Column("version", "Version"), lambda one: one.version),
        (Column("source_lines", "Source lines"), lambda one: one.source_lines),
        (Column("direct_dependencies", "Dependencies"), lambda one: one.direct_dependencies),
        (Column("all_dependencies", "with theirs"), lambda one: one.all_dependencies),
        (Column("build_seconds", "Build (s)", number), lambda one: one.build_seconds),
        (Column("start_up_ns", "Start-up (µs)", microseconds), lambda one: one.start_up_ns.value),
        (Column("start_rss_bytes", "Resident bytes after it"), lambda one: one.start_rss_bytes),
    )
    rows = tuple(tuple(value(one) for _, value in columns) for one in findings.targets)
    caption = "What each target takes: code, dependencies, its last build, from start to first handshake."
    return Table("targets", caption, tuple(column for column, _ in columns), rows)


def to_csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([["" if value is None else value for value in row] for row in table.rows])
    return text.getvalue()


def to_markdown(table: Table) -> str:
    lines = [_pipes(column.title for column in table.columns), _pipes("---" for _ in table.columns)]
    lines += [_pipes(shown.replace("|", "\\|") for shown in row) for row in table.shown()]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A booktabs table with its caption."""
    lines = [
        "\\begin{table}",
        f"\\caption{{{_escape(table.caption)}}}",
        f"\\begin{{tabular}}{{{'l' * len(table.columns)}}}",
        "\\toprule",
        _ampersands(column.title for column in table.columns),
        "\\midrule",
        *(_ampersands(row) for row in table.shown()),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Table], str]] = {"csv": to_csv, "md": to_markdown, "tex": to_latex}


def _quantiles(findings: Findings) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for question in findings.questions for name in question.quantiles))


def _ranking_rows(question: QuestionFinding, quantiles: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    if question.withheld:
        yield (question.id, *[None] * (5 + 3 * len(quantiles)), question.withheld)
    for ranked in question.ranking:
        yield (question.id, *ranked.rank, ranked.tier, ranked.label, *_estimates(ranked, quantiles),
               ranked.probability_first, None)  # fmt: skip


def _estimates(ranked: Ranked, quantiles: Sequence[str]) -> Iterable[float | None]:
    for name in quantiles:
        estimate = ranked.estimates.get(name)
        yield estimate.value_ns if estimate else None
        yield from estimate.interval_ns if estimate and estimate.interval_ns else (None, None)


def _decision_row(question: str, decision: Decision) -> tuple[Any, ...]:
    comparison = decision.comparison
    return (
        question,
        decision.quantile,
        *decision.pair,
        decision.outcome,
        comparison.ratio,
        *(comparison.interval or (None, None)),
        comparison.p,
        comparison.p_holm,
        comparison.margin,
        comparison.blocks,
        decision.cliffs_delta,
    )


def _latency(name: str) -> Callable[[CellFinding], Any]:
    return lambda cell: cell.latency_ns[name]


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: Iterable[str]) -> str:
    return " & ".join(map(_escape, cells)) + " \\\\"


def _escape(text: str) -> str:
    """What LaTeX would take for a command, as itself."""
    special = {character: f"\\{character}" for character in "&%$#_{}"}
    special |= {"~": "\\textasciitilde{}", "\\": "\\textbackslash{}", "µ": "\\textmu{}", "δ": "$\\delta$"}
    return "".join(special.get(character, character) for character in text)


def _append_once(path: Path, text: str) -> None:
    """Appends unless the file holds it already: analyzing a run again adds nothing."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if text not in before:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
