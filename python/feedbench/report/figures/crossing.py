"""Clients crossed with servers: every pairing's latency, and whose the differences are."""

from __future__ import annotations

from statistics import geometric_mean

import altair as alt

from feedbench.findings import CrossingFinding
from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, slug
from feedbench.report.numbers import duration, share
from feedbench.report.sentences import quantile_name

PARTS = {
    "client": "Client",
    "server": "Server",
    "interaction": "Their pairing",
    "residual": "Chance",
}

COLOURS = {"below": theme.FASTER, "near": theme.EQUIVALENT, "above": theme.SLOWER}
NEAR = 1.1  # a ratio to the mean of all pairings


def crossing_figures(crossing: CrossingFinding) -> list[Figure]:
    """The table of pairings, and the parts of its variance where they were told."""
    figures = [_pairings(crossing)] if crossing.typical_ns else []
    return figures + ([_parts(crossing)] if crossing.parts else [])


def _pairings(crossing: CrossingFinding) -> Figure:
    values = [value for row in crossing.typical_ns for value in row]
    middle = geometric_mean(values)
    boxes = [
        {
            "client": client,
            "server": server,
            "times": value / middle,
            "label": duration(value),
            "meaning": _meaning(value / middle),
        }
        for client, row in zip(crossing.clients, crossing.typical_ns, strict=True)
        for server, value in zip(crossing.servers, row, strict=True)
    ]
    base = alt.Chart(rows(boxes)).encode(
        x=alt.X(
            "server:N",
            sort=list(crossing.servers),
            title=None,
            axis=alt.Axis(orient="top", labelOverlap=False),
        ),
        y=alt.Y("client:N", sort=list(crossing.clients), title=None, axis=alt.Axis(labelColor=theme.INK)),
        tooltip=[
            alt.Tooltip("client:N"),
            alt.Tooltip("server:N"),
            alt.Tooltip("label:N", title=crossing.quantile),
            alt.Tooltip("times:Q", title="times the mean", format=".2f"),
        ],
    )
    # Steps and no shades: only colours of the theme have a counterpart in dark mode.
    colour = alt.Color(
        "meaning:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), legend=None
    )
    squares = base.mark_rect(stroke=theme.PAPER, strokeWidth=2, cornerRadius=3).encode(color=colour)
    return Figure(
        name=f"{slug(crossing.id)}-pairings",
        title=f"{quantile_name(crossing.quantile)}: clients in rows, servers in columns",
        description=f"Table of the {crossing.quantile} of {len(boxes)} pairings of a client with a server, "
        f"from {duration(min(values))} to {duration(max(values))}.",
        chart=alt.layer(squares, base.mark_text().encode(text="label:N")),
        height=38 * len(crossing.clients),
        caption=f"Geometric means over {crossing.blocks} blocks; "
        "colour: below the table's mean, within 10 % of it, above it.",
        wide=len(crossing.servers) > 5,
    )


def _meaning(ratio: float) -> str:
    return "below" if ratio < 1 / NEAR else "above" if ratio > NEAR else "near"


def _parts(crossing: CrossingFinding) -> Figure:
    data = [
        {
            "part": PARTS[part.part],
            "share": part.share,
            "low": part.interval[0],
            "high": part.interval[1],
            "told": "shown" if part.found else "not shown" if part.p is not None else "chance",
        }
        for part in crossing.parts
    ]
    base = alt.Chart(rows(data)).encode(
        y=alt.Y("part:N", sort=list(PARTS.values()), title=None, axis=alt.Axis(labelColor=theme.INK)),
    )
    axis = alt.X(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        title="Share of the variance of log latency within a block",
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    colour = alt.Color(
        "told:N",
        scale=alt.Scale(
            domain=["shown", "not shown", "chance"], range=[theme.SERIES[0], theme.EXTRA, theme.UNDECIDED]
        ),
        legend=None,
    )
    bars = base.mark_bar(cornerRadius=2, opacity=0.75, height=16).encode(x=axis, color=colour)
    lines = base.mark_rule(strokeWidth=3, color=theme.INK, opacity=0.6).encode(x="low:Q", x2="high:Q")
    told = "; ".join(f"{PARTS[part.part].lower()} {share(part.share)}" for part in crossing.parts)
    return Figure(
        name=f"{slug(crossing.id)}-variance",
        title=f"{quantile_name(crossing.quantile)}: whose the differences are",
        description=f"Bars with intervals of each part's share of the variance: {told}.",
        chart=alt.layer(bars, lines),
        height=36 * len(data),
        caption="Bar: share; line: its 95 % interval; grey: not shown to be there.",
        wide=False,
    )
