"""One client as a process that outlives its supervisor, and is found again by the next.

A child holds a lock on a file of its own, from before its program starts until it ends, however it ends: the
kernel lets go of it then. In the file the child itself has written its process id and its start, so there is
no moment in which a child lives and nobody could know, and a stranger with its id is not taken for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from feedbench.errors import TargetError

UNSIGNED_S = 0.001


@dataclass(frozen=True)
class Child:
    """A living client. `process` is None of one that an earlier supervisor started: it is init's by now."""

    pid: int
    started_unix_ns: int
    process: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """Its whole session; nothing if it has just ended."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def find_child(lock: Path) -> Child | None:
    """Who holds `lock`; None when nobody does."""
    try:
        with lock.open("rb") as file:
            # Shared, so that those who only look do not take each other for the child.
            while not _take(file.fileno(), fcntl.LOCK_SH):
                if signed := file.read():
                    return Child(*json.loads(signed))
                # Taken, and not yet signed: that comes with the next few instructions, or the lock is let go.
                time.sleep(UNSIGNED_S)
                file.seek(0)
            return None
    except FileNotFoundError:
        return None


def start_child(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], lock: Path, log: Path
) -> Child:
    """`command` in a session of its own. TargetError when it can't be started, or one lives already."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+b") as held, log.open("ab") as said:
        descriptor = held.fileno()
        if not _take(descriptor, fcntl.LOCK_EX):
            raise TargetError("its client lives already", where=str(lock))

        def sign() -> None:
            """In the child, before its program: from here on the lock is the child's, and tells whose."""
            os.ftruncate(descriptor, 0)
            os.write(descriptor, b"[%d,%d]" % (os.getpid(), time.time_ns()))

        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(descriptor,),
                preexec_fn=sign,
            )
        except OSError as error:
            raise TargetError(f"cannot start: {error.strerror}", where=command[0]) from error
    # The program runs, so the lines above have been written.
    pid, started_unix_ns = json.loads(lock.read_bytes())
    return Child(pid, started_unix_ns, process)


def take_lock(descriptor: int) -> bool:
    """For as long as the descriptor is open; False when somebody else has it."""
    return _take(descriptor, fcntl.LOCK_EX)


def _take(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
