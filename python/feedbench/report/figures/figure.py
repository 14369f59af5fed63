"""A figure: one chart with its words, and the small helpers that all families share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt

from feedbench.report import theme
from feedbench.report.numbers import Unit

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True)
class Figure:
    """A chart without a width: a file gives it one, the page stretches it to its column.

    `name` is the file's stem in figures/. `description` says what is to be seen, for those who can't see it.
    """

    name: str
    title: str
    description: str
    chart: AnyChart
    height: int
    caption: str = ""
    wide: bool = True  # takes the whole column; else two stand side by side where there is room

    def specification(self, *, width: int | str) -> dict[str, Any]:
        """Vega-Lite JSON at `width` pixels, or `"container"`."""
        document: dict[str, Any] = self.chart.properties(
            height=self.height, description=self.description
        ).to_dict()
        document["width"] = width
        document["autosize"] = {"type": "fit-x", "contains": "padding"}
        # A drawing is laid out with the fonts of the machine that draws it; the reader's may be wider.
        left = 8 if width == "container" else 26
        document["padding"] = {"left": left, "top": 4, "right": 4, "bottom": 4} | document.get("padding", {})
        document["config"] = theme.configuration()
        return document


def slug(text: str) -> str:
    """A file name from a question's id: `connections=1,payload=text:37` → `connections-1-payload-text-37`."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "all"


def rows(values: Iterable[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(values))


def spread_scale(values: Iterable[float | None]) -> alt.Scale:
    """Logarithmic when the values differ by more than a factor of four, else linear; never forced to zero."""
    present = [value for value in values if value is not None and value > 0]
    if present and max(present) > 4 * min(present):
        return alt.Scale(type="log", nice=False, padding=12)
    return alt.Scale(type="linear", zero=False, nice=True, padding=12)


def time_axis(title: str, unit: Unit, *, scale: alt.Scale) -> dict[str, Any]:
    """Arguments of an Altair channel for a time axis in `unit`."""
    return {
        "title": f"{title} ({unit.symbol})",
        "scale": scale,
        "axis": alt.Axis(format=",~r", tickCount=6),
    }
