"""A mark that something is being measured from this checkout, for those who could wait with heavy work."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from feedbench.paths import Project


@contextmanager
def measuring(project: Project) -> Iterator[None]:
    """While the context lasts others see the mark; the kernel takes it away when the process ends."""
    descriptor = _open(project)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def measuring_under_way(project: Project) -> bool:
    """Whether another process is measuring from this checkout."""
    descriptor = _open(project)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _open(project: Project) -> int:
    path: Path = project.scratch / "measuring"
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
