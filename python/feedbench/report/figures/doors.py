"""Clients by door: event ages of those who listen; apart from them, what polls tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from feedbench.findings.door import DoorFinding
from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, spread_scale
from feedbench.report.numbers import duration
from feedbench.target import Door

DOORS: Mapping[Door, str] = {"ws": "WebSocket", "fix": "FIX", "rest": "REST"}


def door_figures(doors: Sequence[DoorFinding]) -> list[Figure]:
    """Each only where something was measured."""
    return [figure for figure in (_listened(doors), _polled(doors)) if figure is not None]


def _listened(doors: Sequence[DoorFinding]) -> Figure | None:
    by_door = len({entry.exchange for entry in doors}) == 1
    points: list[dict[str, Any]] = []
    for entry in doors:
        if entry.door == "rest" or entry.age_ns.value is None:
            continue
        low, high = entry.age_ns.interval or (entry.age_ns.value, entry.age_ns.value)
        parse = entry.factors.get("parse")
        words = [entry.target, *([] if by_door else [entry.exchange]), *([f"parse {parse}"] if parse else [])]
        points.append(
            {
                "client": " · ".join(words),
                "door": DOORS[entry.door] if by_door else entry.exchange,
                "value": entry.age_ns.value / 1e3,
                "low": low / 1e3,
                "high": high / 1e3,
                "text": duration(entry.age_ns.value),
            }
        )
    if not points:
        return None
    points.sort(key=lambda point: float(point["value"]))
    shown = list(dict.fromkeys(point["door"] for point in points))
    x: dict[str, Any] = {
        "title": "Median event age at receipt (µs)",
        "scale": spread_scale(point["value"] for point in points),
        "axis": alt.Axis(format=",~r", tickCount=6),
    }
    colours = alt.Scale(domain=shown, range=[theme.series_colour(place) for place in range(len(shown))])
    shapes = alt.Scale(domain=shown, range=[theme.series_shape(place) for place in range(len(shown))])
    base = alt.Chart(rows(points)).encode(
        y=alt.Y(
            "client:N",
            sort=[point["client"] for point in points],
            title=None,
            axis=alt.Axis(labelColor=theme.INK, labelLimit=320),
        ),
        color=alt.Color("door:N", scale=colours, legend=alt.Legend()),
        tooltip=[alt.Tooltip("client:N"), alt.Tooltip("door:N"), alt.Tooltip("text:N", title="event age")],
    )
    return Figure(
        name="doors-event-age",
        title="How old an event is when it is handed over",
        description="Median event age at receipt, youngest first: "
        + "; ".join(f"{point['client']} ({point['door']}) {point['text']}" for point in points),
        chart=alt.layer(
            base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", **x), x2="high:Q"),
            base.mark_point(size=85).encode(
                x=alt.X("value:Q", **x), shape=alt.Shape("door:N", scale=shapes, legend=alt.Legend())
            ),
        ),
        height=24 * len(points) + 12,
        caption="By the exchange's ledger, with 95 % intervals over blocks.",
    )


def _polled(doors: Sequence[DoorFinding]) -> Figure | None:
    """Bars are the law's, from all of the round trip there to all of it back; points are what was found."""
    points: list[dict[str, Any]] = []
    for entry in doors:
        if entry.polling is None or entry.polling.mean_age_ns.value is None:
            continue
        low, high = entry.polling.law_ns
        points.append(
            {
                "client": entry.target,
                "value": entry.polling.mean_age_ns.value / 1e6,
                "low": low / 1e6,
                "high": high / 1e6,
                "text": duration(entry.polling.mean_age_ns.value),
                "law": f"{duration(low)} to {duration(high)}",
            }
        )
    if not points:
        return None
    x: dict[str, Any] = {
        "title": "Mean age of what polls tell (ms)",
        "scale": alt.Scale(zero=True, nice=True),
        "axis": alt.Axis(format=",~r", tickCount=6),
    }
    base = alt.Chart(rows(points)).encode(
        y=alt.Y("client:N", title=None, axis=alt.Axis(labelColor=theme.INK)),
        color=alt.value(theme.series_colour(0)),
        tooltip=[
            alt.Tooltip("client:N"),
            alt.Tooltip("text:N", title="mean age"),
            alt.Tooltip("law:N", title="by the law"),
        ],
    )
    return Figure(
        name="doors-polled-age",
        title="How old what a poll tells is, beside the law U(0, T) + RTT/2",
        description="; ".join(f"{one['client']}: {one['text']}, by the law {one['law']}" for one in points),
        chart=alt.layer(
            base.mark_rule(strokeWidth=9, opacity=0.35).encode(x=alt.X("low:Q", **x), x2="high:Q"),
            base.mark_point(size=85, filled=True).encode(x=alt.X("value:Q", **x)),
        ),
        height=30 * len(points) + 12,
        caption="Bar: the law's interval; point: what was found. Another quantity than an event's age above.",
    )
