"""The ranking: a dot for each target's estimate, a line for its interval, the rank interval beside it."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from feedbench.report.reading import Question, Ranked
from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, slug, spread_scale, time_axis
from feedbench.report.sentences import quantile_name, quantity_name, rank_interval
from feedbench.report.numbers import estimate_words, time_unit


def ranking_figures(question: Question) -> list[Figure]:
    """One figure for each quantile declared beforehand, in the order of the ranking."""
    return [
        figure
        for quantile in question.quantiles
        if (figure := _ranking(question, quantile)) is not None
    ]


def _ranking(question: Question, quantile: str) -> Figure | None:
    entries = [entry for entry in question.ranking if quantile in entry.estimates]
    if not entries:
        return None
    estimates = [entry.estimates[quantile] for entry in entries]
    unit = time_unit(estimate.value_ns for estimate in estimates)
    data = [_row(entry, quantile, unit.nanoseconds) for entry in entries]
    scale = spread_scale([row[end] for row in data for end in ("low", "high")])
    names = [row["target"] for row in data]
    tiers = sorted({entry.tier for entry in entries})
    # The rank interval is an axis of its own on the right: it then lines up whatever the width.
    ranks = json.dumps({row["target"]: row["rank"] for row in data})
    base = alt.Chart(rows(data)).encode(
        color=alt.Color("tier:N", legend=None,
                        scale=alt.Scale(domain=tiers, range=[theme.series_colour(tier - 1) for tier in tiers])),
        tooltip=[alt.Tooltip("target:N"), alt.Tooltip("rank:N"), alt.Tooltip("tier:N"),
                 alt.Tooltip("estimate:N", title=quantile)],
    )  # fmt: skip
    title = f"{quantile_name(quantile)} {quantity_name(question.quantity)}"
    x: dict[str, Any] = time_axis(f"{title}, less is better", unit, scale=scale)
    left = alt.Y("target:N", sort=names, title=None, axis=alt.Axis(labelColor=theme.INK, grid=True))
    right = alt.Y("target:N", sort=names, title=None,
                  axis=alt.Axis(orient="right", grid=False, labelExpr=f"({ranks})[datum.value]"))  # fmt: skip
    intervals = base.mark_rule(strokeWidth=4, opacity=0.45).encode(x=alt.X("low:Q", **x), x2="high:Q", y=left)
    dots = base.mark_point(size=110).encode(x=alt.X("value:Q", **x), y=right, shape=_tier_shape(tiers))
    chart = alt.layer(intervals, dots).resolve_axis(y="independent")
    first = data[0]
    return Figure(
        name=f"{slug(question.id)}-ranking-{quantile}",
        title=title,
        description=f"Dot plot of the {title} of {len(data)} targets, best first: {first['target']} "
        f"{first['estimate']} to {data[-1]['target']} {data[-1]['estimate']}.",
        chart=chart,
        height=34 * len(data) + 12,
        caption="Dot: estimate; line: 95 % interval over blocks; colour and shape: tier; right: rank interval.",
    )


def _tier_shape(tiers: list[int]) -> alt.Shape:
    shapes = [theme.series_shape(tier - 1) for tier in tiers]
    return alt.Shape("tier:N", legend=None, scale=alt.Scale(domain=tiers, range=shapes))


def _row(entry: Ranked, quantile: str, nanoseconds: float) -> dict[str, Any]:
    estimate = entry.estimates[quantile]
    low, high = estimate.interval_ns or (estimate.value_ns, estimate.value_ns)
    return {
        "target": entry.target,
        "tier": entry.tier,
        "rank": rank_interval(entry.rank),
        "value": estimate.value_ns / nanoseconds,
        "low": low / nanoseconds,
        "high": high / nanoseconds,
        "estimate": estimate_words(estimate.value_ns, estimate.interval_ns),
    }
