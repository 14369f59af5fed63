"""The ranking: a dot for each target's estimate, a line for its interval, the rank interval beside it."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, slug, spread_scale, time_axis
from feedbench.report.numbers import estimate_words, time_unit
from feedbench.report.reading import Question, Standing
from feedbench.report.sentences import quantile_name, quantity_name, rank_interval


def ranking_figures(question: Question) -> list[Figure]:
    """One figure for each quantile declared beforehand, in the order of the ranking."""
    drawn = ((quantile, question.standings(quantile)) for quantile in question.quantiles)
    return [_ranking(question, quantile, standings) for quantile, standings in drawn if standings]


def _ranking(question: Question, quantile: str, standings: list[Standing]) -> Figure:
    unit = time_unit(standing.value_ns for standing in standings)
    data = [_row(standing, unit.nanoseconds) for standing in standings]
    names = [standing.name for standing in standings]
    tiers = sorted({standing.tier for standing in standings})
    # The rank interval is an axis of its own on the right: it then lines up whatever the width.
    ranks = json.dumps({standing.name: rank_interval(standing.rank) for standing in standings})
    hues = alt.Scale(domain=tiers, range=[theme.series_colour(tier - 1) for tier in tiers])
    shapes = alt.Scale(domain=tiers, range=[theme.series_shape(tier - 1) for tier in tiers])
    base = alt.Chart(rows(data)).encode(
        color=alt.Color("tier:N", legend=None, scale=hues),
        tooltip=[
            alt.Tooltip("target:N"),
            alt.Tooltip("rank:N"),
            alt.Tooltip("tier:N"),
            alt.Tooltip("estimate:N", title=quantile),
        ],
    )
    scale = spread_scale([row[end] for row in data for end in ("low", "high")])
    x: dict[str, Any] = time_axis(f"{quantile}, less is better", unit, scale=scale)
    left = alt.Y("target:N", sort=names, title=None, axis=alt.Axis(labelColor=theme.INK, grid=True))
    right = alt.Y(
        "target:N",
        sort=names,
        axis=alt.Axis(
            orient="right",
            grid=False,
            title="Rank",
            titleAngle=0,
            titleAlign="left",
            titleX=8,
            titleY=-8,
            labelExpr=f"({ranks})[datum.value]",
        ),
    )
    intervals = base.mark_rule(strokeWidth=4, opacity=0.45).encode(x=alt.X("low:Q", **x), x2="high:Q", y=left)
    shape = alt.Shape("tier:N", legend=None, scale=shapes)
    dots = base.mark_point(size=110).encode(x=alt.X("value:Q", **x), y=right, shape=shape)
    title = f"{quantile_name(quantile)} {quantity_name(question.quantity)}"
    first, last = data[0], data[-1]
    return Figure(
        name=f"{slug(question.id)}-ranking-{quantile}",
        title=title,
        description=f"Dot plot of the {title} of {len(data)} targets, best first: {first['target']} "
        f"{first['estimate']} to {last['target']} {last['estimate']}.",
        chart=alt.layer(intervals, dots).resolve_axis(y="independent"),
        height=34 * len(data) + 12,
        caption="Dot: estimate; line: 95 % interval over blocks; colour and shape: tier.",
    )


def _row(standing: Standing, nanoseconds: float) -> dict[str, Any]:
    low, high = standing.interval_ns or (standing.value_ns, standing.value_ns)
    return {
        "target": standing.name,
        "tier": standing.tier,
        "rank": rank_interval(standing.rank),
        "value": standing.value_ns / nanoseconds,
        "low": low / nanoseconds,
        "high": high / nanoseconds,
        "estimate": estimate_words(standing.value_ns, standing.interval_ns),
    }
