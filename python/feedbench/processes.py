"""Runs a command to its end: without a shell, within a time limit, ending its whole process group."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

STOP_POLL_S = 0.2


def run_to_end(
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    output: IO[bytes],
    timeout_s: float,
    idle: bool = False,
    stop: threading.Event | None = None,
) -> str | None:
    """What went wrong, None when it ended with status 0. stdout and stderr go to `output`.

    `idle` lets the command have only CPU time that nobody else wants. ^C and time-outs end its children too;
    so does `stop`, once somebody sets it.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return f"cannot start {command[0]}: {error.strerror}"
    try:
        if idle:
            _make_idle(process.pid)
        status = _wait(process, timeout_s=timeout_s, stop=stop)
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {timeout_s:g} s"
    finally:
        _end_group(process)
    if status is None:
        return f"{command[0]} was stopped"
    if status < 0:
        return f"{command[0]} was ended by {signal.Signals(-status).name}"
    return f"{command[0]} ended with status {status}" if status else None


def _wait(process: subprocess.Popen[bytes], *, timeout_s: float, stop: threading.Event | None) -> int | None:
    """The exit status; None when `stop` was set first. TimeoutExpired when the time is over."""
    if stop is None:
        return process.wait(timeout_s)
    ends = time.monotonic() + timeout_s
    while not stop.is_set():
        left = ends - time.monotonic()
        try:
            return process.wait(min(STOP_POLL_S, max(0.0, left)))
        except subprocess.TimeoutExpired:
            if left <= 0:
                raise
    return None


def _make_idle(pid: int) -> None:
    """Right after the start, for its children to inherit. Losing that race costs nothing but manners."""
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
