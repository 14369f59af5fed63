"""One HTML file that is whole in itself: it loads nothing, sends nothing, and believes nothing the run says.

The Content-Security-Policy names our two scripts by their hash and allows no address at all, so that neither
a target's name nor an error message, nor a mistake of ours, can make the page run foreign code or speak to
anyone.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from feedbench import __version__
from feedbench.report import theme
from feedbench.report.content import Content
from feedbench.report.figures.figure import Figure


@dataclass(frozen=True)
class Drawn:
    """A figure with its drawing and its live specification, ready to be put into the page."""

    figure: Figure
    svg: str
    specification: str


def page(content: Content, drawings: Mapping[str, str]) -> str:
    """The HTML of the report. `drawings` holds each figure's static SVG by its name."""
    bundle, script = vega_bundle(), _asset("script.js")

    def drawn(figures: Sequence[Figure]) -> list[Drawn]:
        return [
            Drawn(figure, drawings[figure.name], embedded_json(figure.specification(width="container")))
            for figure in figures
        ]

    environment = Environment(
        loader=PackageLoader("feedbench.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawn"] = drawn
    return environment.get_template("page.html.j2").render(
        page=content,
        version=__version__,
        policy=content_policy(bundle, script),
        style=_asset("style.css") + f"@media (prefers-color-scheme:dark){{{theme.repaint_rules('.chart')}}}",
        bundle=bundle,
        script=script,
    )


def content_policy(*scripts: str) -> str:
    """Only these scripts, our own style, no address."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
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


def _asset(name: str) -> str:
    return files("feedbench.report").joinpath("assets", name).read_text(encoding="utf-8")
