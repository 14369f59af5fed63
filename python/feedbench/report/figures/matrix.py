"""The decisions about each pair, as a matrix: how long the row takes as a share of the column."""

from __future__ import annotations

from typing import Any

import altair as alt

from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, slug
from feedbench.report.reading import Decision, Question
from feedbench.report.sentences import quantile_name
from feedbench.report.numbers import ratio

# The order of the legend, and the colour of each; the text in a box says the same without colour.
COLOURS = {
    "faster": theme.FASTER,
    "slower": theme.SLOWER,
    "equivalent": theme.EQUIVALENT,
    "undecided": theme.UNDECIDED,
}
MARKS = {"equivalent": "=", "undecided": "?"}


def matrix_figures(question: Question) -> list[Figure]:
    """One matrix for each declared quantile that has decisions."""
    return [figure for quantile in question.quantiles if (figure := _matrix(question, quantile)) is not None]


def _matrix(question: Question, quantile: str) -> Figure | None:
    decisions = [decision for decision in question.decisions if decision.quantile == quantile]
    if not decisions:
        return None
    order = _order(question, decisions)
    boxes = [box for decision in decisions for box in _boxes(decision)]
    base = alt.Chart(rows(boxes)).encode(
        x=alt.X("column:N", sort=order, title=None,
                axis=alt.Axis(orient="top", labelAngle=-40, labelLimit=130, domain=False, ticks=False, labelPadding=4)),
        y=alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelColor=theme.INK)),
        tooltip=[alt.Tooltip("row:N", title="this"), alt.Tooltip("column:N", title="against"),
                 alt.Tooltip("meaning:N", title="decision"), alt.Tooltip("ratio:N"),
                 alt.Tooltip("interval:N", title="95 % interval"), alt.Tooltip("p:N", title="p (Holm)")],
    )  # fmt: skip
    squares = base.mark_rect(stroke=theme.PAPER, strokeWidth=2, cornerRadius=3).encode(
        color=alt.Color("meaning:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
                        legend=alt.Legend(symbolType="square", symbolStrokeWidth=1, symbolStrokeColor=theme.MUTED)),
    )  # fmt: skip
    labels = base.mark_text(fontSize=10.5, color=theme.INK).encode(text="label:N")
    counts = {meaning: sum(decision.decision == meaning for decision in decisions)
              for meaning in ("different", "equivalent", "undecided")}  # fmt: skip
    title = f"{quantile_name(quantile)}: row against column"
    summary = ", ".join(f"{count} {meaning}" for meaning, count in counts.items())
    return Figure(
        name=f"{slug(question.id)}-decisions-{quantile}",
        title=title,
        description=f"Matrix of {len(decisions)} pairs at {quantile}: {summary}.",
        chart=alt.layer(squares, labels),
        height=32 * len(order),
        caption=f"{summary[0].upper()}{summary[1:]}. Number: the row's time divided by the column's; = equivalent, ? undecided.",
        wide=len(order) > 5,
    )


def _order(question: Question, decisions: list[Decision]) -> list[str]:
    """The ranking's order where there is one, else the order of first appearance."""
    named = [name for decision in decisions for name in decision.pair]
    ranked = [key for entry in question.ranking for key in (entry.target, entry.cell) if key in named]
    return list(dict.fromkeys([*ranked, *named]))


def _boxes(decision: Decision) -> list[dict[str, Any]]:
    """Both boxes of a pair: the second is the first turned round."""
    first, second = decision.pair
    low, high = decision.interval
    return [
        _box(decision, first, second, decision.ratio, (low, high)),
        _box(decision, second, first, 1 / decision.ratio, (1 / high, 1 / low)),
    ]


def _box(
    decision: Decision, row: str, column: str, value: float, interval: tuple[float, float]
) -> dict[str, Any]:
    meaning = decision.decision
    if meaning == "different":
        meaning = "faster" if value < 1 else "slower"
    return {
        "row": row,
        "column": column,
        "meaning": meaning,
        "label": MARKS.get(meaning) or (f"{value:.2f}" if value < 9.95 else f"{value:.0f}"),
        "ratio": ratio(value),
        "interval": f"[{ratio(interval[0])}, {ratio(interval[1])}]",
        "p": "–" if decision.p_holm is None else f"{decision.p_holm:.3g}",
    }
