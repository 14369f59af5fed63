"""Each block on its own: shows modes, drift and hysteresis, which a summary hides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from feedbench.report.figures.figure import Figure, rows, slug, spread_scale
from feedbench.report.figures.series import Series
from feedbench.report.numbers import duration, time_unit
from feedbench.report.reading import Cell


def block_figures(name: str, cells: Sequence[Cell], series: Series, quantile: str) -> list[Figure]:
    """`quantile` of every cell in every block, joined by thin lines; nothing from a single block."""
    drawn = [cell for cell in cells if any(block.get(quantile) for block in cell.per_block)]
    if not drawn or max(len(cell.per_block) for cell in drawn) < 2:
        return []
    values = [(cell, block, block.get(quantile)) for cell in drawn for block in cell.per_block]
    unit = time_unit(value for _, _, value in values)
    points: list[dict[str, Any]] = [
        {
            "series": series.name(cell),
            "block": block["block"],
            "value": value / unit.nanoseconds,
            "latency": duration(value),
        }
        for cell, block, value in values
        if value
    ]
    names = [series.name(cell) for cell in drawn]
    base = alt.Chart(rows(points)).encode(
        x=alt.X(
            "block:Q",
            title="Block",
            scale=alt.Scale(nice=False, zero=False, padding=14),
            axis=alt.Axis(format="d", tickMinStep=1, grid=False),
        ),
        y=alt.Y(
            "value:Q",
            title=f"{quantile} in each block ({unit.symbol})",
            scale=spread_scale(point["value"] for point in points),
            axis=alt.Axis(format=",~r", tickCount=6),
        ),
        color=series.colour(names),
        tooltip=[
            alt.Tooltip("series:N", title="target"),
            alt.Tooltip("block:Q"),
            alt.Tooltip("latency:N", title=quantile),
        ],
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(strokeDash=series.dash(names))
    dots = base.mark_point(size=46).encode(shape=series.shape(names))
    return [
        Figure(
            name=f"{slug(name)}-blocks",
            title=f"{quantile} block by block",
            description=f"The {quantile} of each of {len(names)} targets in each block of fresh processes.",
            chart=alt.layer(lines, dots),
            height=330,
            caption="Every block starts all processes afresh. "
            "Two levels in one line are modes between processes; a slope is drift.",
            wide=False,
        )
    ]
