"""What all our pages share: templates that escape what they are given, a style, a policy against all else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from feedbench import __version__
from feedbench.report import theme

PACKAGE, ASSETS = "feedbench.report", "assets"


def asset(name: str) -> str:
    """The text of a file among the report's assets."""
    return files(PACKAGE).joinpath(ASSETS, name).read_text(encoding="utf-8")


def render(
    template: str,
    *,
    scripts: Sequence[str] = (),
    filters: Mapping[str, Callable[..., Any]] | None = None,
    **content: object,
) -> str:
    """One HTML file that is whole in itself: `template` among the assets, filled with `content`.

    `scripts` are those that may run in it, to the letter.
    """
    environment = Environment(
        loader=PackageLoader(PACKAGE, ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters or {})
    return environment.get_template(template).render(
        version=__version__,
        policy=content_policy(*scripts),
        style=asset("style.css") + f"@media (prefers-color-scheme:dark){{{theme.repaint_rules('.chart')}}}",
        **content,
    )


def content_policy(*scripts: str) -> str:
    """Only these scripts, our own style, no address."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
