"""`feedbench build`: builds targets and leaves a receipt for each."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from feedbench.build import build_targets
from feedbench.cli.common import FILTERS, JSON, say
from feedbench.paths import Project
from feedbench.registry import discover


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def build(
        filters: FILTERS = None,
        as_json: JSON = False,
        force: Annotated[bool, typer.Option("--force", help="Build even what is up to date.")] = False,
    ) -> None:
        """Build targets, by default all whose tools are here.

        What has not changed since its last build is left as it is. A build that fails does not stop the
        others; its log is named, and the status is 1 at the end.
        """
        project = Project.find()
        registry = discover(project)
        receipts = list(
            build_targets(registry.select(filters or []), registry, project=project, say=say, force=force)
        )
        if as_json:
            print(json.dumps([receipt.to_json() for receipt in receipts], indent=1, ensure_ascii=False))
        if any(receipt.state == "failed" for receipt in receipts):
            sys.exit(1)
