"""Against the number of clients: throughput, latency and what one client gets of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from feedbench.report.figures.figure import Figure, rows, slug, spread_scale
from feedbench.report.figures.series import Series
from feedbench.report.numbers import duration, rate, time_unit
from feedbench.report.reading import Cell
from feedbench.report.sentences import condition_words

Value = tuple[float, float, float]  # value, low, high


def client_figures(
    cells: Sequence[Cell], series: Series, quantile: str, *, prefix: str = "clients"
) -> list[Figure]:
    """For each combination of the other factors: latency (`quantile` or `mean`), throughput, per client."""
    figures: list[Figure] = []
    for others, group in _by_other_factors(cells).items():
        if len({cell.factors["connections"] for cell in group}) < 2:
            continue
        words = condition_words(dict(others))
        suffix = f" — {words}" if words else ""
        what = "Average latency" if quantile == "mean" else quantile
        unit = time_unit(cell.latency_ns.get(quantile) for cell in group)
        for key, title, axis, measure, text in (
            (
                "latency",
                f"{what} against clients",
                f"{what} ({unit.symbol})",
                _latency(quantile, unit.nanoseconds),
                lambda value, unit=unit: duration(value * unit.nanoseconds),
            ),
            ("throughput", "Throughput against clients", "Round trips per second", _throughput, rate),
            (
                "throughput-per-client",
                "Throughput per client",
                "Round trips per second and client",
                _throughput_per_client,
                rate,
            ),
        ):
            name = f"{prefix}-{slug(words)}-{key}" if words else f"{prefix}-{key}"
            figure = _lines(name, title + suffix, axis, group, series, measure, text)
            if figure is not None:
                figures.append(figure)
    return figures


def _by_other_factors(cells: Sequence[Cell]) -> dict[tuple[tuple[str, Any], ...], list[Cell]]:
    groups: dict[tuple[tuple[str, Any], ...], list[Cell]] = {}
    for cell in cells:
        if cell.copy is None and "connections" in cell.factors:
            others = tuple((key, value) for key, value in cell.factors.items() if key != "connections")
            groups.setdefault(others, []).append(cell)
    return groups


def _latency(quantile: str, nanoseconds: float) -> Callable[[Cell], Value | None]:
    def measure(cell: Cell) -> Value | None:
        value = cell.latency_ns.get(quantile)
        return None if value is None else (value / nanoseconds,) * 3

    return measure


def _throughput(cell: Cell) -> Value | None:
    estimate = cell.round_trips_per_s
    if estimate is None or not estimate.value:
        return None
    low, high = estimate.interval or (estimate.value, estimate.value)
    return estimate.value, low, high


def _throughput_per_client(cell: Cell) -> Value | None:
    whole = _throughput(cell)
    clients = cell.factors["connections"]
    return None if whole is None else (whole[0] / clients, whole[1] / clients, whole[2] / clients)


def _lines(
    name: str,
    title: str,
    axis: str,
    cells: Sequence[Cell],
    series: Series,
    measure: Callable[[Cell], Value | None],
    text: Callable[[float], str],
) -> Figure | None:
    points = [
        {
            "series": series.name(cell),
            "clients": cell.factors["connections"],
            "value": value[0],
            "low": value[1],
            "high": value[2],
            "text": text(value[0]),
        }
        for cell in cells
        if (value := measure(cell)) is not None
    ]
    if not points:
        return None
    names = list(dict.fromkeys(point["series"] for point in points))
    clients = sorted({point["clients"] for point in points})
    y = alt.Y(
        "low:Q",
        title=axis,
        axis=alt.Axis(format="~s" if "second" in axis else ",~r", tickCount=6),
        scale=spread_scale(point["value"] for point in points),
    )
    base = alt.Chart(rows(points)).encode(
        x=alt.X(
            "clients:Q",
            title="Clients (log scale)",
            scale=alt.Scale(type="log", base=2, padding=14, nice=False),
            axis=alt.Axis(values=clients, format="d", grid=False),
        ),
        color=series.colour(names),
        tooltip=[
            alt.Tooltip("series:N", title="target"),
            alt.Tooltip("clients:Q"),
            alt.Tooltip("text:N", title=axis),
        ],
    )
    intervals = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=y, y2="high:Q")
    middle = alt.Y("value:Q", title=axis)
    lines = base.mark_line().encode(y=middle, strokeDash=series.dash(names))
    dots = base.mark_point().encode(y=middle, shape=series.shape(names))
    return Figure(
        name=name,
        title=title,
        description=f"{title}: lines for {', '.join(names)} at {', '.join(map(str, clients))} clients.",
        chart=alt.layer(intervals, lines, dots),
        height=320,
        wide=False,
    )
