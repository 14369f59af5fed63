"""Figures 2 to 6 of the paper. Each protocol has a panel and an axis of its own, named by what it
measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import vl_convert
from scipy import stats

from feedbench.doors.quantity import PAPER_QUANTITY
from feedbench.doors.record import LatencyRecord, Protocol
from feedbench.doors.statistics import summarise
from feedbench.doors.tables import SHORT, compared
from feedbench.report import theme
from feedbench.report.figures.figure import AnyChart, rows
from feedbench.report.render import adaptive_svg, png

if TYPE_CHECKING:
    from numpy.typing import NDArray

PANEL_WIDTH, PANEL_HEIGHT = 210, 240
CURVE_POINTS = 400  # a curve of more points looks the same
DENSITY_SAMPLE = 5_000  # a kernel density takes time with each value
TIME_BINS = 200
OUTLIERS_SHOWN = 300
COLOURS: Mapping[Protocol, str] = {
    "FIX": theme.series_colour(2),
    "REST": theme.series_colour(0),
    "WebSocket": theme.series_colour(1),
}

Panel = Callable[[Protocol, Sequence[LatencyRecord]], AnyChart]


@dataclass(frozen=True)
class PaperFigure:
    """`name` is the file's stem."""

    name: str
    title: str
    chart: AnyChart | alt.HConcatChart

    @property
    def description(self) -> str:
        """What is to be seen, for those who can't see it."""
        if self.name == "figure-5":
            return f"Bars: {self.title}."
        return f"{self.title}: a panel with an axis of its own for each protocol."

    def specification(self) -> dict[str, Any]:
        titled = self.chart.properties(title=self.title)
        document: dict[str, Any] = titled.to_dict()
        return document | {"config": theme.configuration(), "padding": 14}


def paper_figures(campaigns: Mapping[str, Sequence[LatencyRecord]]) -> list[PaperFigure]:
    """Of the first, the second and the last campaign, as there; nothing of a campaign without records."""
    names = list(campaigns)
    first, second, last = names[0], names[min(1, len(names) - 1)], names[-1]
    made = [
        _panels("figure-2", f"Cumulative distribution, campaign of {first}", campaigns[first], _cumulative),
        _panels("figure-3", f"Density, campaign of {second}", campaigns[second], _violin),
        _panels("figure-4", f"Over time, campaign of {last}", campaigns[last], _over_time),
        _throughput(campaigns),
        _panels("figure-6", f"Box plots, campaign of {last}", campaigns[last], _box),
    ]
    return [figure for figure in made if figure is not None]


def write_paper_figures(folder: Path, figures: Sequence[PaperFigure]) -> dict[str, str]:
    """SVG, PNG and PDF of each; gives back the plain SVGs by name."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for figure in figures:
        svg = vl_convert.vegalite_to_svg(figure.specification(), allowed_base_urls=[])
        (folder / f"{figure.name}.svg").write_text(adaptive_svg(svg), encoding="utf-8")
        (folder / f"{figure.name}.png").write_bytes(png(svg))
        (folder / f"{figure.name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
        drawn[figure.name] = svg
    return drawn


def _panels(name: str, title: str, records: Sequence[LatencyRecord], panel: Panel) -> PaperFigure | None:
    drawn = [
        panel(protocol, members).properties(
            width=PANEL_WIDTH,
            height=PANEL_HEIGHT,
            title=alt.TitleParams(protocol, subtitle=f"{len(members):,} messages", fontSize=14),
        )
        for protocol, members in compared(records).items()
    ]
    return PaperFigure(name, title, alt.hconcat(*drawn, spacing=28)) if drawn else None


def _axis(protocol: Protocol) -> str:
    return f"{PAPER_QUANTITY[protocol].title} (ms)"


def _values(records: Sequence[LatencyRecord]) -> NDArray[np.float64]:
    return np.array([record.latency_ms for record in records], dtype=np.float64)


def _cumulative(protocol: Protocol, records: Sequence[LatencyRecord]) -> alt.Chart:
    shares = np.linspace(0, 1, min(CURVE_POINTS, len(records) + 1))
    points = zip(np.quantile(_values(records), shares), shares, strict=True)
    chart: alt.Chart = (
        alt.Chart(rows({"x": float(x), "share": float(share)} for x, share in points))
        .mark_line(color=COLOURS[protocol])
        .encode(
            x=alt.X("x:Q", title=_axis(protocol), scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
            y=alt.Y("share:Q", title="Share of messages", axis=alt.Axis(format="%")),
            order="share:Q",
        )
    )
    return chart


def _violin(protocol: Protocol, records: Sequence[LatencyRecord]) -> alt.Chart:
    """A density on both sides, up to the 99th percentile: the rest of the tail would flatten it to a line."""
    values = _values(records)
    inside = values[values <= np.quantile(values, 0.99)]
    thinned = inside[:: max(1, len(inside) // DENSITY_SAMPLE)]
    if np.ptp(thinned) == 0:  # a density of equal values has no width
        points = [{"y": float(thinned[0]), "low": -1.0, "high": 1.0}]
    else:
        heights = np.linspace(thinned.min(), thinned.max(), 160)
        density = stats.gaussian_kde(thinned)(heights)
        points = [
            {"y": float(y), "low": -float(width), "high": float(width)}
            for y, width in zip(heights, density / density.max(), strict=True)
        ]
    chart: alt.Chart = (
        alt.Chart(rows(points))
        .mark_area(color=COLOURS[protocol], opacity=0.7, orient="horizontal")
        .encode(
            y=alt.Y("y:Q", title=_axis(protocol), scale=alt.Scale(zero=False)),
            x=alt.X("low:Q", title="Density, up to P99", axis=alt.Axis(labels=False, ticks=False)),
            x2="high:Q",
        )
    )
    return chart


def _over_time(protocol: Protocol, records: Sequence[LatencyRecord]) -> AnyChart:
    """The median of each moment, and from its least to its greatest: no spike is lost by thinning."""
    seconds = np.array([record.timestamp_ns for record in records], dtype=np.float64) / 1e9
    seconds -= seconds.min()
    values = _values(records)
    edges = np.linspace(0, max(float(seconds.max()), 1e-9), TIME_BINS + 1)
    places = np.clip(np.digitize(seconds, edges) - 1, 0, TIME_BINS - 1)
    points = [
        {
            "t": float(edges[place]),
            "low": float(values[places == place].min()),
            "middle": float(np.median(values[places == place])),
            "high": float(values[places == place].max()),
        }
        for place in np.unique(places)
    ]
    base = alt.Chart(rows(points)).encode(x=alt.X("t:Q", title="Time (s)", axis=alt.Axis(tickCount=5)))
    y = alt.Y("low:Q", title=_axis(protocol), scale=alt.Scale(zero=False))
    spread = base.mark_rule(color=COLOURS[protocol], opacity=0.45).encode(y=y, y2="high:Q")
    line = base.mark_line(color=theme.INK, strokeWidth=1).encode(y=alt.Y("middle:Q", title=_axis(protocol)))
    return alt.layer(spread, line)


def _box(protocol: Protocol, records: Sequence[LatencyRecord]) -> AnyChart:
    """Tukey's: whiskers to the last value within 1.5 box lengths; of the outliers, the furthest are kept."""
    values = np.sort(_values(records))
    low, middle, high = (float(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    box = {"low": low, "middle": middle, "high": high, "least": inside.min(), "most": inside.max()}
    outside = values[(values < low - reach) | (values > high + reach)]
    step = max(1, len(outside) // OUTLIERS_SHOWN)
    # From the far end, so that the furthest is always among them.
    kept = [{"y": float(value)} for value in outside[::-1][::step]]
    base = alt.Chart(rows([{name: float(value) for name, value in box.items()}]))
    title = _axis(protocol)
    scale = alt.Scale(zero=False)
    whiskers = base.mark_rule(color=theme.INK).encode(
        y=alt.Y("least:Q", title=title, scale=scale), y2="most:Q"
    )
    body = base.mark_bar(color=COLOURS[protocol], size=60).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    line = base.mark_tick(color=theme.PAPER, size=60, thickness=2).encode(y=alt.Y("middle:Q", title=title))
    dots = (
        alt.Chart(rows(kept))
        .mark_point(color=theme.INK, size=12, opacity=0.5)
        .encode(y=alt.Y("y:Q", title=title))
    )
    return alt.layer(whiskers, body, line, dots)


def _throughput(campaigns: Mapping[str, Sequence[LatencyRecord]]) -> PaperFigure | None:
    """Every rate here is that of a throttle or of the market, not of a protocol."""
    points = [
        {"campaign": name, "protocol": SHORT[protocol], "rate": summary.throughput_per_s}
        for name, records in campaigns.items()
        for protocol, members in compared(records).items()
        for summary in [summarise(members)]
        if summary.throughput_per_s
    ]
    if not points:
        return None
    base = alt.Chart(rows(points)).encode(
        x=alt.X("campaign:N", sort=list(campaigns), title=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("protocol:N", sort=list(SHORT.values())),
        y=alt.Y("rate:Q", title="Messages/s", axis=alt.Axis(tickCount=4)),
    )
    names = list(SHORT.values())
    colours = alt.Scale(domain=names, range=[COLOURS[protocol] for protocol in SHORT])
    bars = base.mark_bar().encode(color=alt.Color("protocol:N", scale=colours))
    words = base.mark_text(dy=-7).encode(text=alt.Text("rate:Q", format=".3~g"))
    chart = alt.layer(bars, words).properties(width=3 * PANEL_WIDTH, height=PANEL_HEIGHT)
    return PaperFigure("figure-5", "Messages per second, as the throttles and the market allow", chart)
