"""Distributions: latency by percentile with the tail stretched out, and the cumulative share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from feedbench.findings import CellFinding
from feedbench.report.figures.figure import Figure, rows, slug, spread_scale
from feedbench.report.figures.series import Series
from feedbench.report.numbers import duration, time_unit

# HdrHistogram's plots put 1/(1−share) on a logarithmic axis, so that each further nine takes the same room.
TICKS = {1: "0", 2: "50", 10: "90", 100: "99", 1_000: "99.9", 10_000: "99.99", 100_000: "99.999"}


def distribution_figures(
    name: str, cells: Sequence[CellFinding], series: Series, quantity: str
) -> list[Figure]:
    """Both views of the same curves; nothing when no cell has one."""
    drawn = [cell for cell in cells if len(cell.percentile_curve) > 1]
    if not drawn:
        return []
    unit = time_unit(value for cell in drawn for _, value in cell.percentile_curve)
    points = [
        {
            "series": series.name(cell),
            "share": share,
            "nines": 1 / (1 - share),
            "value": value / unit.nanoseconds,
            "percentile": f"{share * 100:.6g} %",
            "latency": duration(value),
        }
        for cell in drawn
        for share, value in cell.percentile_curve
        if share < 1
    ]
    names = [series.name(cell) for cell in drawn]
    title = f"{quantity[0].upper()}{quantity[1:]} ({unit.symbol})"
    return [
        _by_percentile(name, points, names, series, title, unit.symbol),
        _cumulative(name, points, names, series, title, unit.symbol),
    ]


def _lines(points: list[dict[str, Any]], names: list[str], series: Series) -> alt.Chart:
    lines: alt.Chart = (
        alt.Chart(rows(points))
        .mark_line(interpolate="monotone")
        .encode(
            color=series.colour(names),
            strokeDash=series.dash(names),
            tooltip=[
                alt.Tooltip("series:N", title="target"),
                alt.Tooltip("percentile:N"),
                alt.Tooltip("latency:N"),
            ],
        )
    )
    return lines


def _by_percentile(
    name: str, points: list[dict[str, Any]], names: list[str], series: Series, title: str, unit: str
) -> Figure:
    largest = max(point["nines"] for point in points)
    ticks = [tick for tick in TICKS if tick <= largest * 1.05]
    scale = alt.Scale(type="log", domain=[1, max(largest, 10)], nice=False)
    x = alt.X(
        "nines:Q",
        title="Percentile (%)",
        scale=scale,
        axis=alt.Axis(values=ticks, labelExpr=f"({json.dumps(TICKS)})[datum.value]", labelOverlap=False),
    )
    y = alt.Y(
        "value:Q",
        title=title,
        scale=spread_scale(point["value"] for point in points),
        axis=alt.Axis(format=",~r", tickCount=6),
    )
    return Figure(
        name=f"{slug(name)}-percentiles",
        title="Latency by percentile",
        description=f"Lines of latency in {unit} against percentile for {', '.join(names)}; "
        "the tail is stretched so that each further nine takes the same width.",
        chart=_lines(points, names, series).encode(x=x, y=y),
        height=360,
        caption="Read upwards at 99: one message in a hundred takes longer. "
        "A percentile is drawn only where enough messages stand behind it.",
    )


def _cumulative(
    name: str, points: list[dict[str, Any]], names: list[str], series: Series, title: str, unit: str
) -> Figure:
    x = alt.X(
        "value:Q",
        title=title,
        scale=spread_scale(point["value"] for point in points),
        axis=alt.Axis(format=",~r", tickCount=6),
    )
    y = alt.Y(
        "share:Q",
        title="Share of messages",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=5),
    )
    return Figure(
        name=f"{slug(name)}-cumulative",
        title="Cumulative share",
        description=f"Share of messages that took at most a given time in {unit}, for {', '.join(names)}.",
        chart=_lines(points, names, series).encode(x=x, y=y, order="share:Q"),
        height=330,
        caption="The further left and the steeper, the better. Two steps in one line are two modes.",
        wide=False,
    )
