"""Figures into files and into the page: SVG and PNG from the very specification that the page shows live."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from feedbench.report import theme
from feedbench.report.figures.figure import Figure

FILE_WIDTH = 720  # of a figure's SVG, in CSS pixels
PNG_SCALE = 2.0


def static_svg(figure: Figure, *, width: int = FILE_WIDTH) -> str:
    """The figure as SVG in the light colours, without a background."""
    return vl_convert.vegalite_to_svg(figure.specification(width=width), allowed_base_urls=[])


def adaptive_svg(svg: str) -> str:
    """An SVG for light and dark pages: its own background, and repainted when the reader prefers dark."""
    style = (
        f"<style>@media (prefers-color-scheme:dark){{{theme.repaint_rules()}}}</style>"
        f'<rect width="100%" height="100%" rx="6" fill="{theme.PAPER}"/>'
    )
    return re.sub(r"(<svg[^>]*>)", lambda match: match.group(1) + style, svg, count=1)


def png(svg: str) -> bytes:
    """The light drawing on paper colour, at twice the size."""
    rect = f'<rect width="100%" height="100%" fill="{theme.PAPER}"/>'
    whole = re.sub(r"(<svg[^>]*>)", lambda match: match.group(1) + rect, svg, count=1)
    return vl_convert.svg_to_png(whole, scale=PNG_SCALE)


def write_figures(folder: Path, figures: Sequence[Figure]) -> dict[str, str]:
    """Writes `<name>.svg` and `<name>.png` of each figure; gives back the plain SVGs by name."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for figure in figures:
        svg = static_svg(figure)
        (folder / f"{figure.name}.svg").write_text(adaptive_svg(svg), encoding="utf-8")
        (folder / f"{figure.name}.png").write_bytes(png(svg))
        drawn[figure.name] = svg
    return drawn
