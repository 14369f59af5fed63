"""The study's figures: its numbers, axes and order, drawn in the style of this house.

The paper prints two figures under the number 5. The second of them, request time with those servers too that
did not finish, is `figure-1-all` here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from feedbench.ramp.averages import (
    Measure,
    Target,
    average_s,
    connection_s,
    longest_s,
    request_s,
    total_s,
)
from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows

LINE_HEIGHT, BAR_HEIGHT = 340, 26


def ramp_figures(targets: Sequence[Target]) -> list[Figure]:
    """Those that have something to show."""
    finishers = [target for target in targets if target.finished]
    everyone = list(targets)
    colours = {target.name: position for position, target in enumerate(everyone)}
    figures = [
        _lines("figure-1", "Time for all requests of a round", request_s, finishers, colours),
        _bars("figure-2", "Time to connect all clients", connection_s, finishers, colours),
        _bars("figure-3", "Time for all requests", request_s, finishers, colours),
        _bars("figure-4", "Time for the whole ramp", total_s, finishers, colours),
        _lines("figure-5", "Longest round trip of a round", longest_s, finishers, colours),
        _lines("figure-1-all", "Time for all requests of a round, all servers", request_s, everyone, colours),
        _lines("figure-6", "Average round trip of a round", average_s, finishers, colours),
        _lines("figure-7", "Time to connect the clients that a round adds", connection_s, everyone, colours),
        _lines("figure-8", "The same, servers that finished", connection_s, finishers, colours),
    ]
    return [figure for figure in figures if figure is not None]


def _lines(
    name: str, title: str, measure: Measure, targets: Sequence[Target], colours: dict[str, int]
) -> Figure | None:
    points: list[dict[str, Any]] = [
        {
            "series": target.name,
            "x": point.connections,
            "y": point.value,
            "low": point.low,
            "high": point.high,
        }
        for target in targets
        for point in target.points(measure)
    ]
    if not points:
        return None
    names = list(dict.fromkeys(point["series"] for point in points))
    y = alt.Y("y:Q", title=f"{title} (s)", axis=alt.Axis(format=",~r", tickCount=6))
    base = alt.Chart(rows(points)).encode(
        x=alt.X("x:Q", title="Connections", axis=alt.Axis(format=",d", grid=False, tickCount=6)),
        color=alt.Color(
            "series:N", scale=alt.Scale(domain=names, range=[theme.series_colour(colours[n]) for n in names])
        ),
    )
    dashes = [theme.series_dash(colours[n]) for n in names]
    lines = base.mark_line().encode(
        y=y, strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes))
    )
    spread = base.mark_rule(opacity=0.35).encode(y=alt.Y("low:Q", title=f"{title} (s)"), y2="high:Q")
    return Figure(
        name=name,
        title=title,
        description=f"{title} against the number of connections, lines for {', '.join(names)}.",
        chart=alt.layer(spread, lines),
        height=LINE_HEIGHT,
    )


def _bars(
    name: str, title: str, measure: Measure, targets: Sequence[Target], colours: dict[str, int]
) -> Figure | None:
    points: list[dict[str, Any]] = [
        {"series": target.name, "y": total.value, "low": total.low, "high": total.high}
        for target in targets
        for total in [target.total(measure)]
    ]
    if not points:
        return None
    points.sort(key=lambda point: float(point["y"]))
    names = [point["series"] for point in points]
    hues = [theme.series_colour(colours[n]) for n in names]
    base = alt.Chart(rows(points)).encode(y=alt.Y("series:N", sort=names, title=None))
    bars = base.mark_bar().encode(
        x=alt.X(
            "y:Q", title=f"{title} (s), average of the repeats", axis=alt.Axis(format=",~r", tickCount=6)
        ),
        color=alt.Color("series:N", scale=alt.Scale(domain=names, range=hues), legend=None),
    )
    spread = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", color=alt.value(theme.INK))
    texts = ", ".join(f"{point['series']} {point['y']:.4g} s" for point in points)
    return Figure(
        name=name,
        title=title,
        description=f"{title}: {texts}.",
        chart=alt.layer(bars, spread),
        height=BAR_HEIGHT * len(points) + 20,
    )
