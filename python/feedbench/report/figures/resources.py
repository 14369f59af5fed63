"""CPU time per message, memory per connection, and how near the generator's ceiling each cell came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from feedbench.report import theme
from feedbench.report.figures.figure import Figure, rows, spread_scale
from feedbench.report.numbers import duration, share, size
from feedbench.report.reading import Cell
from feedbench.report.sentences import condition_words

Value = tuple[float, float, float]  # value, low, high
CONDITIONS_SHOWN = (
    4  # beyond these a reader can't tell shapes apart: then only the first and the last are drawn
)


def resource_figures(cells: Sequence[Cell]) -> list[Figure]:
    """CPU per message, memory per connection, share of the ceiling: each only where it was measured."""
    own = [cell for cell in cells if cell.copy is None]
    candidates = (
        _dots(
            "cpu-per-message",
            "CPU time per message",
            "µs, less is better",
            own,
            _cpu,
            lambda value: duration(value * 1e3),
        ),
        _dots(
            "memory-per-connection",
            "Memory per connection",
            "kB, less is better",
            own,
            _memory,
            lambda value: size(value * 1e3),
        ),
        _ceiling(own),
    )
    return [figure for figure in candidates if figure is not None]


def _cpu(cell: Cell) -> Value | None:
    estimate = cell.cpu_ns_per_message
    if estimate is None or estimate.value is None:
        return None
    low, high = estimate.interval or (estimate.value, estimate.value)
    return estimate.value / 1e3, low / 1e3, high / 1e3


def _memory(cell: Cell) -> Value | None:
    value = cell.memory_per_connection_bytes
    return None if value is None else (value / 1e3,) * 3


def _share(cell: Cell) -> Value | None:
    return None if cell.ceiling_share is None else (cell.ceiling_share,) * 3


def _shown(cells: Sequence[Cell]) -> tuple[list[str], str]:
    """The conditions to draw, and a sentence when that isn't all of them."""
    conditions = list(dict.fromkeys(condition_words(cell.factors) for cell in cells))
    if len(conditions) <= CONDITIONS_SHOWN:
        return conditions, ""
    ends = [conditions[0], conditions[-1]]
    return ends, f"Of {len(conditions)} conditions only the first and the last are drawn; the table has all."


def _points(
    cells: Sequence[Cell], measure: Callable[[Cell], Value | None], text: Callable[[float], str]
) -> list[dict[str, Any]]:
    return [
        {
            "target": cell.target,
            "condition": condition_words(cell.factors) or "all",
            "value": value[0],
            "low": value[1],
            "high": value[2],
            "text": text(value[0]),
            "bound": "generator-bound" if cell.generator_bound else "",
        }
        for cell in cells
        if (value := measure(cell)) is not None
    ]


def _dots(
    name: str,
    title: str,
    axis: str,
    cells: Sequence[Cell],
    measure: Callable[[Cell], Value | None],
    text: Callable[[float], str],
    scale: alt.Scale | None = None,
    tick_format: str = ",~r",
    marked: bool = False,
) -> Figure | None:
    points = _points(cells, measure, text)
    if not points:
        return None
    conditions, note = _shown([cell for cell in cells if measure(cell) is not None])
    points = [
        point for point in points if point["condition"] in (conditions or ["all"]) or conditions == [""]
    ]
    targets = list(
        dict.fromkeys(point["target"] for point in sorted(points, key=lambda point: point["value"]))
    )
    shown = list(dict.fromkeys(point["condition"] for point in points))
    several = len(shown) > 1
    x: dict[str, Any] = {
        "title": axis,
        "scale": scale or spread_scale(point["value"] for point in points),
        "axis": alt.Axis(format=tick_format, tickCount=6),
    }
    base = alt.Chart(rows(points)).encode(
        y=alt.Y("target:N", sort=targets, title=None, axis=alt.Axis(labelColor=theme.INK, grid=not several)),
        yOffset=alt.YOffset("condition:N", sort=shown),
        color=alt.Color(
            "condition:N",
            legend=alt.Legend() if several else None,
            scale=alt.Scale(domain=shown, range=[theme.series_colour(i) for i in range(len(shown))]),
        ),
        tooltip=[
            alt.Tooltip("target:N"),
            alt.Tooltip("condition:N"),
            alt.Tooltip("text:N", title=title),
            *([alt.Tooltip("bound:N", title="note")] if any(point["bound"] for point in points) else []),
        ],
    )
    shapes = [theme.series_shape(i) for i in range(len(shown))]
    rules = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", **x), x2="high:Q")
    dots = base.mark_point(size=85).encode(
        x=alt.X("value:Q", **x),
        shape=alt.Shape(
            "condition:N",
            legend=alt.Legend() if several else None,
            scale=alt.Scale(domain=shown, range=shapes),
        ),
    )
    layers: list[alt.Chart] = [rules, dots]
    if marked and any(point["bound"] for point in points):
        words = base.mark_text(align="right", dx=-10, fontStyle="italic").encode(
            x=alt.X("value:Q", **x), text="bound:N"
        )
        layers.append(words.encode(color=alt.value(theme.MUTED)))
    return Figure(
        name=name,
        title=title,
        description=f"{title}, least first: "
        + "; ".join(
            f"{point['target']} {point['text']}" for point in sorted(points, key=lambda p: p["value"])[:12]
        ),
        chart=alt.layer(*layers),
        height=max(30, 17 * len(shown) + 4) * len(targets) + 12,
        caption=note,
        wide=False,
    )


def _ceiling(cells: Sequence[Cell]) -> Figure | None:
    """Share of what the raw TCP loop reaches here; near one, the generator is what was measured."""
    figure = _dots(
        "ceiling-share",
        "Share of the ceiling",
        "Of the raw TCP round trips",
        cells,
        _share,
        share,
        alt.Scale(domain=[0, 1], nice=False),
        "%",
        marked=True,
    )
    if figure is None:
        return None
    note = "No cell is generator-bound."
    if any(cell.generator_bound for cell in cells):
        note = "Generator-bound: so near the ceiling that the load generator may be what was measured."
    return replace(figure, caption=f"{note} {figure.caption}".strip())
