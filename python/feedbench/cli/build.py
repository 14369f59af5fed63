"""`feedbench build`: builds targets and leaves a receipt for each."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from feedbench.builder import build_targets, builds_at_a_time, clean, summary_of
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
        debug: Annotated[
            bool, typer.Option("--debug", help="Build the debug builds too, where a target has one.")
        ] = False,
        from_nothing: Annotated[
            bool, typer.Option("--from-nothing", help="Remove what earlier builds left, then build.")
        ] = False,
    ) -> None:
        """Build targets, by default all whose needs are met here.

        What has not changed since its last build is left as it is. A build that fails does not stop the
        others; its log is named, and the status is 1 at the end.
        """
        project = Project.find()
        registry = discover(project)
        targets = registry.select(filters or [])
        at_a_time = builds_at_a_time(project)
        started_unix_ns, begin = time.time_ns(), time.monotonic()
        if from_nothing:
            clean(targets, project=project)
        receipts = build_targets(
            targets,
            registry,
            project=project,
            say=say,
            force=force or from_nothing,
            debug={target.name for target in targets if debug and target.debug_commands is not None},
            at_a_time=at_a_time,
        )
        summary = summary_of(
            receipts,
            started_unix_ns=started_unix_ns,
            seconds=time.monotonic() - begin,
            at_a_time=at_a_time,
            from_nothing=from_nothing,
        )
        summary.write(project)
        if len(receipts) > 1:
            say(f"builds: {summary}")
        if as_json:
            print(json.dumps([receipt.to_json() for receipt in receipts], indent=1, ensure_ascii=False))
        if summary.failed:
            sys.exit(1)
