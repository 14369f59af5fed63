"""The one picture for a README: a ranking with its title, that needs no page around it."""

from __future__ import annotations

from dataclasses import replace

import altair as alt

from feedbench.report.figures.figure import Figure
from feedbench.report.figures.ranking import ranking_figures
from feedbench.report.reading import Findings, Question
from feedbench.report.sentences import condition_words

MARGIN = {"top": 18, "right": 18, "bottom": 14}  # pixels; it stands alone, on a page of another colour


def picture(question: Question, findings: Findings) -> Figure:
    """The ranking by the headline quantile, with title, condition and how to read it."""
    figure = ranking_figures(question)[0]
    condition = condition_words(question.fixed)
    subtitle = [
        ", ".join(part for part in (condition, f"{question.blocks_used} blocks of fresh processes") if part),
        "Dot: estimate. Line: 95 % interval. Colour and shape: tier. Right: rank interval.",
    ]
    title = alt.TitleParams(text=findings.title or findings.scenario, subtitle=subtitle)
    return replace(figure, name="ranking", chart=figure.chart.properties(title=title, padding=MARGIN))
