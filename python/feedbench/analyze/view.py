"""The ranking as it stands on the screen at the end of `feedbench run` and `feedbench analyze`."""

from __future__ import annotations

import io
import shutil

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from feedbench.analyze.findings import Estimate, Findings, QuestionFinding, Ranked

WIDTH = 96
_COLOURS = {"note": "dim", "caution": "yellow", "warning": "bold red"}


def render_ranking(findings: Findings) -> RenderableType:
    """A table for each question, what was not measured, then the advice: gravest first."""
    parts: list[RenderableType] = []
    for question in findings.questions:
        parts += [Text(question.text or question.id, style="bold"), _answer(question), Text()]
    for missing in findings.not_measured:
        parts.append(Text(f"not measured: {missing.target}: {missing.reason}", style="dim"))
    severities = list(_COLOURS)
    for entry in sorted(findings.advice, key=lambda entry: -severities.index(entry.severity)):
        parts.append(Text(f"{entry.severity}: {entry.text}", style=_COLOURS[entry.severity]))
    return Group(*parts)


def ranking_text(findings: Findings) -> str:
    """The same as plain text, as wide as the screen but wide enough for its tables."""
    console = Console(file=io.StringIO(), no_color=True, width=max(WIDTH, shutil.get_terminal_size().columns))
    with console.capture() as captured:
        console.print(render_ranking(findings))
    return captured.get()


def _answer(question: QuestionFinding) -> RenderableType:
    used = f"{question.blocks_used} blocks"
    if dropped := {drop.block for drop in question.blocks_dropped}:
        used += f", {len(dropped)} dropped"
    if question.withheld:
        return Text(f"No ranking ({used}): {question.withheld}.", style="yellow")
    caption = f"{used}; targets of one tier were not told apart"
    table = Table(caption=caption, caption_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("rank", justify="right")
    table.add_column("tier", justify="right")
    table.add_column("target" if question.compare == "target" else question.compare, no_wrap=True)
    for name in question.quantiles:
        table.add_column(f"{name} µs", justify="right")
        table.add_column("95 %", justify="right", style="dim")
    table.add_column("P(first)", justify="right")
    for ranked in question.ranking:
        table.add_row(*_line(ranked, question))
    return table


def _line(ranked: Ranked, question: QuestionFinding) -> list[str]:
    low, high = ranked.rank
    estimates = [text for name in question.quantiles for text in _spoken(ranked.estimates[name])]
    return [
        str(low) if low == high else f"{low}–{high}",
        str(ranked.tier),
        ranked.label,
        *estimates,
        f"{ranked.probability_first:.0%}",
    ]


def _spoken(estimate: Estimate) -> tuple[str, str]:
    """Value and interval in µs."""
    value = "–" if estimate.value is None else f"{estimate.value / 1000:,.1f}"
    if estimate.interval is None:
        return value, "–"
    low, high = estimate.interval
    return value, f"{low / 1000:,.1f}–{high / 1000:,.1f}"
