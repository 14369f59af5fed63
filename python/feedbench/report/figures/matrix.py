"""The decisions about each pair, as a matrix: how long the row takes as a share of the column."""

from __future__ import annotations

from typing import Any

import altair as alt

from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, slug
from feedbench.report.numbers import ratio_words
from feedbench.report.reading import Decision, Pair, Question
from feedbench.report.sentences import quantile_name

# The order of the legend, and the colour of each; the text in a box says the same without colour.
COLOURS = {
    "faster": theme.FASTER,
    "slower": theme.SLOWER,
    "equivalent": theme.EQUIVALENT,
    "undecided": theme.UNDECIDED,
}
SLANT = 56  # pixels on the right into which the last slanted column name may reach
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
        x=alt.X("column:N", sort=order, title=None, axis=alt.Axis(orient="top", labelOverlap=False)),
        y=alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelColor=theme.INK)),
        tooltip=[
            alt.Tooltip("row:N", title="this"),
            alt.Tooltip("column:N", title="against"),
            alt.Tooltip("meaning:N", title="decision"),
            alt.Tooltip("ratio:N"),
            alt.Tooltip("p:N", title="p (Holm)"),
        ],
    )
    squares = base.mark_rect(stroke=theme.PAPER, strokeWidth=2, cornerRadius=3).encode(
        color=alt.Color(
            "meaning:N",
            scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
            legend=alt.Legend(symbolType="square", symbolStrokeWidth=1, symbolStrokeColor=theme.MUTED),
        ),
    )
    labels = base.mark_text().encode(text="label:N")
    counts = {
        meaning: sum(decision.decision == meaning for decision in decisions)
        for meaning in ("different", "equivalent", "undecided")
    }
    title = f"{quantile_name(quantile)}: row against column"
    summary = ", ".join(f"{count} {meaning}" for meaning, count in counts.items())
    return Figure(
        name=f"{slug(question.id)}-decisions-{quantile}",
        title=title,
        description=f"Matrix of {len(decisions)} pairs at {quantile}: {summary}.",
        chart=alt.layer(squares, labels).properties(padding={"right": SLANT}),
        height=32 * len(order),
        caption=f"{summary}. Number: the row’s time divided by the column’s; = equivalent, ? undecided.",
        wide=len(order) > 9,
    )


def _order(question: Question, decisions: list[Decision]) -> list[str]:
    """The ranking's order where there is one, else the order of first appearance."""
    named = [name for decision in decisions for name in decision.pair]
    ranked = [key for entry in question.ranking if (key := entry.name) in named]
    return list(dict.fromkeys([*ranked, *named]))


def _boxes(decision: Decision) -> list[dict[str, Any]]:
    """Both boxes of a pair: the second is the first turned round."""
    first, second = decision.pair
    value, interval = decision.ratio, decision.interval
    turned = (1 / interval[1], 1 / interval[0]) if interval else None
    return [
        _box(decision, first, second, value, interval),
        _box(decision, second, first, 1 / value if value else None, turned),
    ]


def _box(
    decision: Decision, row: str, column: str, value: float | None, interval: Pair | None
) -> dict[str, Any]:
    meaning: str = decision.decision
    if meaning == "different" and value is not None:
        meaning = "faster" if value < 1 else "slower"
    return {
        "row": row,
        "column": column,
        "meaning": meaning,
        "label": MARKS.get(meaning) or (f"{value:.2f}" if value and value < 9.95 else f"{value:.0f}"),
        "ratio": ratio_words(value, interval),
        "p": "–" if decision.p_holm is None else f"{decision.p_holm:.3g}",
    }
