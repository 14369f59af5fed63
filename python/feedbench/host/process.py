"""Child processes that never outlive feedbench, and how they are ended."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h
CLONE_NEWNET = 0x4000_0000  # linux/sched.h
# Loaded before any fork: the child between fork and exec may only make calls that take no lock.
_PRCTL = ctypes.CDLL(None, use_errno=True).prctl
_SETNS = ctypes.CDLL(None, use_errno=True).setns


def own_preparation(
    *, cpus: Sequence[int] = (), on_parent_death: int = signal.SIGKILL, namespace: Path | None = None
) -> Callable[[], None]:
    """What a child does before exec: pins itself, and asks to be signalled when its parent ends. `namespace`
    is a network namespace that it goes into (network_path.py).

    The death signal makes a kill -9 of feedbench end its engine and targets too, with nothing to reap later.
    It is not inherited by the child's own children, so targets are also ended as a process group.
    """
    parent = os.getpid()
    wanted = set(cpus)

    def prepare() -> None:
        _PRCTL(PR_SET_PDEATHSIG, on_parent_death)
        if os.getppid() != parent:  # the parent ended before the call above
            os._exit(1)
        if wanted:
            os.sched_setaffinity(0, wanted)
        if namespace is not None:
            _enter(namespace)

    return prepare


def _enter(namespace: Path) -> None:
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    if _SETNS(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(namespace))


def end_process(process: subprocess.Popen[bytes], *, first: signal.Signals, grace_s: float) -> bool:
    """Signals the process, then kills its whole group once the grace is over; False when it had to be killed.

    The process must lead its own process group.
    """
    obeyed = True
    if process.returncode is None:
        os.kill(process.pid, first)  # not send_signal, which would reap it
        obeyed = has_ended(process, within_s=grace_s)
        # Not yet reaped, so the group's id is still ours and can't have passed to a stranger.
        _kill_group(process.pid)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return obeyed


def has_ended(process: subprocess.Popen[bytes], *, within_s: float = 0.0) -> bool:
    """Whether the process ends within the time, without reaping it: its schedstat can still be read."""
    if process.returncode is not None:
        return True
    descriptor = os.pidfd_open(process.pid)
    try:
        return bool(select.select([descriptor], [], [], within_s)[0])
    finally:
        os.close(descriptor)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def ending(status: int) -> str:
    """`status 3`, or `signal 9 (SIGKILL)`, for a Popen return code."""
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"
