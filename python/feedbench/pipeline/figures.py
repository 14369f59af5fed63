"""Figures 9–11 of the paper, of our own numbers, in the style of this house. Pure.

A box plot is drawn from its five numbers: with a hundred million events there is nothing to gain from handing
them to a plotting library, and the outliers are told in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from feedbench.papers.scores import METRICS
from feedbench.papers.table_checks import METRIC_ROWS
from feedbench.pipeline.study import ExchangeStudy, Scoring, Study
from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, slug

ROW_HEIGHT, BAR_HEIGHT = 44, 26
BOX_THICKNESS = 18


def study_figures(study: Study) -> list[Figure]:
    """Those that have something to show."""
    colours = {name: place for place, name in enumerate(study.clients())}
    figures = [_boxes(exchange, place, colours) for place, exchange in enumerate(study.exchanges)]
    figures += [_line(exchange, colours) for exchange in study.exchanges]
    if scoring := study.scoring("whiskers"):
        figures += [_metric_scores(scoring, colours), _final_scores(scoring)]
    return [figure for figure in figures if figure is not None]


def _boxes(exchange: ExchangeStudy, place: int, colours: Mapping[str, int]) -> Figure | None:
    """Figure 9 a, b, c …: a box for each client, the exchange's own range."""
    points: list[dict[str, Any]] = []
    for each in exchange.series:
        if each.summary is None:
            continue
        numbers, box = each.summary.box_ms.whiskers, each.summary.box_ms
        points.append(
            {
                "client": each.series.client,
                "minimum": numbers.minimum,
                "q1": numbers.q1,
                "median": numbers.median,
                "q3": numbers.q3,
                "maximum": numbers.maximum,
                "beyond": f"{box.outliers / each.account.common:.2%} beyond, "
                f"to {box.extremes.maximum:,.0f} ms",
            }
        )
    if not points:
        return None
    names = [point["client"] for point in points]
    hues = [theme.series_colour(colours[name]) for name in names]
    base = alt.Chart(rows(points)).encode(y=alt.Y("client:N", sort=names, title=None))
    scale = alt.Scale(zero=False, nice=True, padding=10)
    whisker = base.mark_rule(color=theme.MUTED).encode(
        x=alt.X("minimum:Q", title="Event age (ms)", scale=scale), x2="maximum:Q"
    )
    colour = alt.Color("client:N", scale=alt.Scale(domain=names, range=hues), legend=None)
    # A box of no length, when half of all ages are the same millisecond, still has its outline.
    boxes = base.mark_bar(size=BOX_THICKNESS, opacity=0.75, strokeWidth=1).encode(
        x="q1:Q", x2="q3:Q", color=colour, stroke=colour
    )
    medians = base.mark_tick(size=BOX_THICKNESS, thickness=2, color=theme.INK).encode(x="median:Q")
    beyond = base.mark_text(align="right", dy=-BOX_THICKNESS / 2 - 6, color=theme.MUTED).encode(
        x=alt.value("width"), text="beyond:N"
    )
    letter = chr(ord("a") + place)
    told = "; ".join(f"{point['client']} {point['median']:,.4g} ms" for point in points)
    return Figure(
        name=f"figure-09{letter}-{slug(exchange.exchange)}",
        title=f"Event age by client, {exchange.exchange}",
        description=f"Box plots of event ages at {exchange.exchange}, medians: {told}.",
        chart=alt.layer(whisker, boxes, medians, beyond),
        height=ROW_HEIGHT * len(points) + 20,
        caption=exchange.withheld or "",
    )


def _line(exchange: ExchangeStudy, colours: Mapping[str, int]) -> Figure | None:
    """How far each distribution is from a normal one with the same mean and deviation."""
    points = [
        {"client": each.series.client, "normal": pair.normal_ms, "age": pair.age_ms}
        for each in exchange.series
        if each.summary is not None
        for pair in each.summary.normality.line
    ]
    if not points:
        return None
    names = list(dict.fromkeys(str(point["client"]) for point in points))
    hues = [theme.series_colour(colours[name]) for name in names]
    expected = [
        pair.normal_ms for each in exchange.series if each.summary for pair in each.summary.normality.line
    ]
    ends = [min(expected), max(expected)]
    diagonal = (
        alt.Chart(rows([{"x": end, "y": end} for end in ends]))
        .mark_line(color=theme.EXTRA, strokeDash=[4, 4], strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
    )
    lines = (
        alt.Chart(rows(points))
        .mark_line(point=True)
        .encode(
            x=alt.X("normal:Q", title="If it were normal (ms)", scale=alt.Scale(zero=False)),
            y=alt.Y("age:Q", title="Event age (ms)", scale=alt.Scale(zero=False)),
            color=alt.Color("client:N", scale=alt.Scale(domain=names, range=hues)),
        )
    )
    return Figure(
        name=f"quantiles-{slug(exchange.exchange)}",
        title=f"Ages against a normal distribution, {exchange.exchange}",
        description=f"Q-Q lines from the 0.1th to the 99.9th percentile, {', '.join(names)}; "
        "a normal distribution lies on the diagonal.",
        chart=alt.layer(diagonal, lines),
        height=300,
    )


def _metric_scores(scoring: Scoring, colours: Mapping[str, int]) -> Figure:
    """Figure 10."""
    names = list(scoring.scores.final)
    points = [
        {"metric": METRIC_ROWS[metric], "client": name, "score": float(value)}
        for metric in METRICS
        for name, value in scoring.scores.metrics[metric].items()
    ]
    hues = [theme.series_colour(colours[name]) for name in names]
    order = [METRIC_ROWS[metric] for metric in METRICS]
    bars = (
        alt.Chart(rows(points))
        .mark_bar()
        .encode(
            x=alt.X("metric:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("client:N", sort=names),
            y=alt.Y(
                "score:Q", title=f"Score ({len(names)} is best)", scale=alt.Scale(domain=[0, len(names)])
            ),
            color=alt.Color("client:N", scale=alt.Scale(domain=names, range=hues)),
        )
    )
    return Figure(
        name="figure-10-metric-scores",
        title="Metric scores over all exchanges",
        description=f"Scores of {', '.join(names)} for maximum, Q3, median, Q1 and minimum.",
        chart=alt.layer(bars),
        height=280,
    )


def _final_scores(scoring: Scoring) -> Figure:
    """Figure 11."""
    scores = scoring.scores
    points = [
        {"client": name, "score": float(value), "label": f"{value} · place {scores.places[name]}"}
        for name, value in sorted(scores.final.items(), key=lambda item: (scores.places[item[0]], item[0]))
    ]
    names = [str(point["client"]) for point in points]
    base = alt.Chart(rows(points)).encode(y=alt.Y("client:N", sort=names, title=None))
    bars = base.mark_bar(color=theme.SERIES[0]).encode(
        x=alt.X(
            "score:Q",
            title=f"Final score ({len(names)} is best)",
            scale=alt.Scale(domain=[0, len(names) * 1.2]),
        )
    )
    labels = base.mark_text(align="left", dx=6).encode(x="score:Q", text="label:N")
    told = ", ".join(f"{point['client']} {point['label']}" for point in points)
    return Figure(
        name="figure-11-final-score",
        title="Final score and place",
        description=f"{told}.",
        chart=alt.layer(bars, labels),
        height=BAR_HEIGHT * len(points) + 20,
    )
