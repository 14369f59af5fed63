"""The process that measures: leads a session of its own, so that a shield can cover it and all that it
starts.

`python -m feedbench.run.worker RUN_DIRECTORY PROJECT`, started by the supervisor and by nobody else.
"""

from __future__ import annotations

import sys
from pathlib import Path

from feedbench.cluster.run import hosts_of
from feedbench.errors import FeedbenchError
from feedbench.paths import Project, RunDirectory
from feedbench.registry import discover
from feedbench.run.campaign import run_campaign
from feedbench.run.interruption import HARD_STOP_STATUS, Interruption
from feedbench.run.progress import Progress


def main(directory: str, root: str) -> int:
    """The exit status: 0 when the plan or its budget is done, 130 when interrupted, 1 after an error."""
    project = Project(Path(root))
    progress = Progress()
    try:
        where = RunDirectory(Path(directory))
        with (
            Interruption() as interruption,
            hosts_of(where, say=progress.note, stopped=lambda: interruption.asked) as remote,
        ):
            record = run_campaign(
                where,
                project=project,
                registry=discover(project),
                interruption=interruption,
                progress=progress,
                remote=remote,
            )
    except FeedbenchError as error:
        progress.note(f"feedbench: {error}")
        return 1
    except OSError as error:
        named = error.filename or directory
        progress.note(f"feedbench: {named}: {error.strerror} (what was measured before is kept)")
        return 1
    return HARD_STOP_STATUS if record.stopped == "interrupted" else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
