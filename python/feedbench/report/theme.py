"""Colours and type of every figure, in light and in dark.

A figure is drawn once, in the light colours. Dark mode is a style sheet that repaints each light colour by
its dark counterpart (`repaint_rules`): the same rules serve the static SVG, the live charts and the files in
figures/, so there is one drawing and no second specification. Every colour has one purpose only.

Hues are near those of Okabe and Ito ("Color Universal Design", 2008), which stay apart in the common
colour-vision deficiencies; their yellow is left out, since it has no contrast on white. Shape and dash repeat
what the hue says.
"""

from __future__ import annotations

from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"

INK = "#22272e"
MUTED = "#5c6670"
GRID = "#e4e7eb"
PAPER = "#fdfdfc"
EXTRA = "#8a939c"  # sentinel and control: part of the method, not of the contest

# One colour a series; after the last they start again, then told apart by shape and dash.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#b8579a", "#c98a00", "#46a0d4", "#8c5a2b", "#6f5bc4", "#3d4451")
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
)
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))

FASTER = "#b9dcf0"
SLOWER = "#f8d3b0"
EQUIVALENT = "#d3d8dd"
UNDECIDED = "#e9e2f1"

DARK = {
    INK: "#e3e7eb",
    MUTED: "#a3adb7",
    GRID: "#2d343b",
    PAPER: "#15191d",
    EXTRA: "#7d8791",
    "#0072b2": "#4fb0e8",
    "#d55e00": "#ff8f4a",
    "#009e73": "#33c99b",
    "#b8579a": "#e594cb",
    "#c98a00": "#f0b93a",
    "#46a0d4": "#90d2f7",
    "#8c5a2b": "#c99a6b",
    "#6f5bc4": "#a899f0",
    "#3d4451": "#c5ccd4",
    FASTER: "#1c4d6b",
    SLOWER: "#71421a",
    EQUIVALENT: "#414a53",
    UNDECIDED: "#3a3150",
}


def series_colour(position: int) -> str:
    return SERIES[position % len(SERIES)]


def series_shape(position: int) -> str:
    return SHAPES[position % len(SHAPES)]


def series_dash(position: int) -> list[int]:
    """Solid while the colours last, then dashed."""
    return list(DASHES[(position // len(SERIES)) % len(DASHES)])


def repaint_rules(scope: str = "") -> str:
    """CSS that turns a figure drawn in the light colours dark; `scope` is a selector put before each rule."""
    prefix = f"{scope} " if scope else ""
    return "".join(
        f"{prefix}[fill='{light}']{{fill:{dark}}}{prefix}[stroke='{light}']{{stroke:{dark}}}"
        for light, dark in DARK.items()
    )


def configuration() -> dict[str, Any]:
    """The Vega-Lite `config` that every figure shares."""
    return {
        "background": None,
        "font": FONT,
        "mark": {"aria": False},  # the figure as a whole is described; hundreds of dots are not
        "view": {"stroke": None},
        "axis": {
            "labelColor": MUTED,
            "titleColor": MUTED,
            "titleFontWeight": 500,
            "titleFontSize": 12,
            "labelFontSize": 12,
            "titlePadding": 10,
            "gridColor": GRID,
            "domainColor": GRID,
            "tickColor": GRID,
            "labelOverlap": "greedy",
        },
        "axisY": {"labelPadding": 8, "labelLimit": 220, "domain": False, "ticks": False},
        "axisX": {"labelPadding": 6},
        "axisTop": {"labelAngle": -40, "labelLimit": 130, "domain": False, "ticks": False, "labelPadding": 4},
        "legend": {
            "orient": "bottom",
            "columns": 4,
            "title": None,
            "labelColor": INK,
            "labelFontSize": 12,
            "labelLimit": 200,
            "symbolSize": 90,
            "symbolStrokeWidth": 2,
            "symbolOpacity": 1,
            "columnPadding": 18,
            "rowPadding": 5,
            "offset": 14,
        },
        "title": {
            "color": INK,
            "subtitleColor": MUTED,
            "anchor": "start",
            "fontSize": 17,
            "fontWeight": 600,
            "subtitleFontSize": 12.5,
            "subtitlePadding": 6,
            "offset": 16,
        },
        "line": {"strokeWidth": 2, "strokeCap": "round", "strokeJoin": "round"},
        "point": {"filled": True, "size": 60, "opacity": 1},
        "rule": {"strokeCap": "round"},
        "text": {"color": INK, "fontSize": 11},
    }
