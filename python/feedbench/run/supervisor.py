"""Starts the worker in a session of its own and passes ^C and SIGTERM on to it.

The terminal sends ^C only to its own session, and a shield is a session's: so the process at the terminal
waits, and the worker measures. If this process is killed the kernel tells the worker, which ends its children
and writes what it has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import FrameType

from feedbench.host.process import own_preparation
from feedbench.paths import Project, RunDirectory


def supervise(directory: RunDirectory, *, project: Project) -> int:
    """Measures into `directory` and returns the worker's exit status."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "feedbench.run.worker", str(directory.path.resolve()), str(project.root)],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=own_preparation(on_parent_death=signal.SIGTERM),
    )

    def forward(number: int, frame: FrameType | None) -> None:
        if worker.returncode is None:
            os.kill(worker.pid, number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return worker.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
