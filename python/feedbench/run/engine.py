"""One call of the engine: a request file in, results in the cells' folders, and how it went."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import EngineError
from feedbench.host.process import ending, own_preparation
from feedbench.launch import log_tail
from feedbench.paths import write_json
from feedbench.run.resources import run_delay_ns
from feedbench.run.watch import Alarm, Stoppable, Watched, watch

# All tried; none could be; stopped by ^C: each leaves its results (spec/README.md).
GOOD_STATUSES = (0, 1, 130)


@dataclass(frozen=True)
class EngineCall:
    """How a call ended. `trouble` says what went wrong with the engine itself, None when it kept its
    contract.
    """

    watched: Watched
    run_delay_ns: int
    trouble: str | None


def call_engine(
    engine: Path,
    request: Mapping[str, Any],
    *,
    request_file: Path,
    log: Path,
    bystanders: Mapping[str, subprocess.Popen[bytes]],
    interruption: Stoppable,
    deadline_ns: int,
    alarm: Alarm | None,
    tick: Callable[[], None],
) -> EngineCall:
    """Runs the engine to its end. The request and what the engine says stay in the block, so it can be
    repeated.
    """
    write_json(request_file, request)
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                [str(engine), "load", "--request", str(request_file), "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the same results stand in the cells' load.json
                stderr=output,
                process_group=0,
                preexec_fn=own_preparation(),
            )
        except OSError as error:
            raise EngineError(
                f"it could not be started: {error.strerror}", where=str(engine), hint="try: make setup"
            ) from error
    try:
        watched = watch(
            process,
            bystanders=bystanders,
            interruption=interruption,
            deadline_ns=deadline_ns,
            alarm=alarm,
            tick=tick,
        )
        waited_ns = run_delay_ns(process.pid) or 0
    finally:
        if process.poll() is None:
            process.kill()
        status = process.wait()
    return EngineCall(watched=watched, run_delay_ns=waited_ns, trouble=_trouble(status, watched, log))


def _trouble(status: int, watched: Watched, log: Path) -> str | None:
    if watched.overdue:
        return f"the engine did not end within its time and was killed after {watched.wall_ns / 1e9:.0f} s"
    if status in GOOD_STATUSES:
        return None
    said = log_tail(log)
    return f"the engine ended with {ending(status)}" + (f", it said: {said}" if said else "")
