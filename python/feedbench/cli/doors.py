"""What `feedbench run` does with a file that has a table [doors]."""

from __future__ import annotations

import time
from pathlib import Path

from feedbench.cli.common import say
from feedbench.doors.campaign import read_doors
from feedbench.doors.play import Place, play
from feedbench.errors import FeedbenchError, RunDirectoryError
from feedbench.host.facts import read_facts
from feedbench.paths import Project, write_json

RECORD = "doors.json"


def play_doors(what: Path, out: Path | None, project: Project, *, scale: float) -> None:
    """From the file to the summary; ^C ends it with the campaigns that it has."""
    if not project.exchange.exists():
        raise FeedbenchError("the exchange is not built", where=str(project.exchange), hint="try: make setup")
    doors = read_doors(what, scale=scale)
    run = out or project.runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{doors.name}"
    if (run / RECORD).exists():
        raise RunDirectoryError("there is a run already", where=str(run), hint="--out chooses another place")
    write_json(run / "host.json", read_facts().document())
    write_json(run / RECORD, doors.to_json())
    say(f"run directory {run}")
    try:
        play(doors, Place(run=run, project=project, say=say))
    finally:
        # It draws, which nothing before it needs.
        from feedbench.doors.summary import write_results

        page = write_results(doors, run)
    print(page.resolve())
