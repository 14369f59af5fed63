"""For questions that compare a factor's values within one target: each pair's ratio, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows
from feedbench.report.numbers import ratio_words
from feedbench.report.reading import Findings, Question
from feedbench.report.sentences import condition_words, pair_words, quantile_name

DECISION_COLOURS = {"different": theme.SERIES[0], "equivalent": theme.SERIES[2], "undecided": theme.EXTRA}
DECISION_SHAPES = {"different": "diamond", "equivalent": "circle", "undecided": "triangle-up"}


def paired_figures(findings: Findings) -> list[Figure]:
    """One figure for each quantile over all questions that compare a factor: targets stand side by side."""
    questions = [question for question in findings.questions if question.compare != "target"]
    quantiles = list(dict.fromkeys(quantile for question in questions for quantile in question.quantiles))
    figures = (_paired(questions, findings, quantile) for quantile in quantiles)
    return [figure for figure in figures if figure is not None]


def _paired(questions: Sequence[Question], findings: Findings, quantile: str) -> Figure | None:
    labels = _labels(questions, findings)
    points: list[dict[str, Any]] = [
        {
            "label": labels[question.id] + "  " + pair_words(decision.pair, question.compare),
            "ratio": decision.ratio,
            "low": decision.interval[0],
            "high": decision.interval[1],
            "decision": decision.decision,
            "text": ratio_words(decision.ratio, decision.interval),
        }
        for question in questions
        for decision in question.decisions
        if decision.quantile == quantile and decision.ratio is not None and decision.interval is not None
    ]
    if not points:
        return None
    order = list(dict.fromkeys(point["label"] for point in points))
    x: dict[str, Any] = {
        "title": f"Ratio of {quantile} (log scale)",
        "axis": alt.Axis(format=",~r", tickCount=6),
        "scale": alt.Scale(type="log", nice=False, padding=14),
    }
    base = alt.Chart(rows(points)).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelColor=theme.INK, grid=True)),
        color=alt.Color(
            "decision:N",
            scale=alt.Scale(domain=list(DECISION_COLOURS), range=list(DECISION_COLOURS.values())),
        ),
        tooltip=[
            alt.Tooltip("label:N", title="pair"),
            alt.Tooltip("text:N", title="ratio"),
            alt.Tooltip("decision:N"),
        ],
    )
    one = (
        alt.Chart(rows([{"ratio": 1}]))
        .mark_rule(color=theme.MUTED, strokeDash=[4, 4])
        .encode(x=alt.X("ratio:Q", **x))
    )
    intervals = base.mark_rule(strokeWidth=4, opacity=0.45).encode(x=alt.X("low:Q", **x), x2="high:Q")
    dots = base.mark_point(size=95).encode(
        x=alt.X("ratio:Q", **x),
        shape=alt.Shape(
            "decision:N", scale=alt.Scale(domain=list(DECISION_SHAPES), range=list(DECISION_SHAPES.values()))
        ),
    )
    margins = sorted(
        {
            round(margin.ratio, 4)
            for question in questions
            if (margin := question.margin.get(quantile)) is not None
        }
    )
    margin_words = f" Within ±{margins[-1] * 100:.2g} % of one counts as equivalent." if margins else ""
    return Figure(
        name=f"paired-{quantile}",
        title=f"{quantile_name(quantile)}: {questions[0].compare.replace('_', ' ')}, pair by pair",
        description=f"Ratios of {quantile} for {len(points)} pairs: "
        + "; ".join(f"{point['label']}: {point['text']}" for point in points[:12]),
        chart=alt.layer(one, intervals, dots),
        height=32 * len(order) + 12,
        caption="Left of one: the first of the pair takes less time. Lines: 95 % intervals over blocks."
        + margin_words,
    )


def _labels(questions: Sequence[Question], findings: Findings) -> dict[str, str]:
    """`python/tornado`, with the fixed factors where one target has several questions."""
    target_of = {cell.cell: cell.target for cell in findings.cells}
    names: dict[str, str] = {}
    for question in questions:
        cells = [name for decision in question.decisions for name in decision.cells if name in target_of]
        names[question.id] = target_of[cells[0]] if cells else question.id
    repeated = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {
        question.id: f"{names[question.id]} ({condition_words(_factors(question))})"
        if names[question.id] in repeated and _factors(question)
        else names[question.id]
        for question in questions
    }


def _factors(question: Question) -> dict[str, Any]:
    """What is held besides the target."""
    return {key: value for key, value in question.fixed.items() if key != "target"}
