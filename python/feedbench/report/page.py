"""One HTML file that is whole in itself: it loads nothing, sends nothing, and believes nothing the run says.

The Content-Security-Policy names our two scripts by their hash and allows no address at all, so that neither
a target's name nor an error message, nor a mistake of ours, can make the page run foreign code or speak to
anyone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import vl_convert

from feedbench.report.content import Content
from feedbench.report.figures.figure import Figure
from feedbench.report.html import asset, render


@dataclass(frozen=True)
class Drawn:
    """A figure with its drawing and its live specification, ready to be put into the page."""

    figure: Figure
    svg: str
    specification: str


def page(content: Content, drawings: Mapping[str, str]) -> str:
    """The HTML of the report. `drawings` holds each figure's static SVG by its name."""
    bundle, script = vega_bundle(), asset("script.js")

    def drawn(figures: Sequence[Figure]) -> list[Drawn]:
        return [
            Drawn(figure, drawings[figure.name], embedded_json(figure.specification(width="container")))
            for figure in figures
        ]

    return render(
        "page.html.j2",
        scripts=(bundle, script),
        filters={"drawn": drawn},
        page=content,
        bundle=bundle,
        script=script,
    )


def embedded_json(document: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can close the element or open a comment."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from vl-convert's own copy: nothing is fetched."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return str(bundle).replace("</script", "<\\/script")
