"""Waits for a child while others may die, the clock may run out and the user may interrupt; sleeps in
between.

The loop owns no thread and polls nothing: it sleeps in select() on process descriptors, because a watcher
that woke up a hundred times a second would take its CPU from what is measured.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

NS_PER_S = 1_000_000_000
INTERRUPTED_GRACE_NS = 10 * NS_PER_S  # for the engine to write what it has
TICK_NS = 1 * NS_PER_S


class Stoppable(Protocol):
    """What tells of ^C and SIGTERM: an Interruption, or a test's stand-in."""

    @property
    def asked(self) -> bool: ...

    def fileno(self) -> int: ...

    def raising(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Alarm:
    """Something to do once, `at_ns` after the start of the wait; the action may hand over the next such."""

    at_ns: int
    action: Callable[[], Alarm | None]


@dataclass
class Watched:
    """How a wait ended: the names of bystanders that died meanwhile, in order, and whether the child was
    overdue.
    """

    died: list[str] = field(default_factory=list)
    overdue: bool = False
    interrupted: bool = False
    wall_ns: int = 0


def watch(
    child: subprocess.Popen[bytes],
    *,
    bystanders: Mapping[str, subprocess.Popen[bytes]],
    interruption: Stoppable,
    deadline_ns: int,
    alarm: Alarm | None = None,
    tick: Callable[[], None] = lambda: None,
    clock: Callable[[], int] = time.monotonic_ns,
) -> Watched:
    """Returns when `child` has ended; it is not yet waited for, so that its last counters can be read.

    An interruption is passed on to the child as SIGINT; a child that outstays its deadline is killed.
    """
    outcome = Watched()
    started_ns = clock()
    ends_ns = started_ns + deadline_ns
    alarm_ns = started_ns + alarm.at_ns if alarm else None
    with _Descriptors() as descriptors:
        descriptors.process(child, "child")
        for name, bystander in bystanders.items():
            descriptors.process(bystander, name)
        if not interruption.asked:
            descriptors.add(interruption.fileno(), None)
        while True:
            now_ns = clock()
            if alarm is not None and alarm_ns is not None and now_ns >= alarm_ns:
                alarm = alarm.action()
                alarm_ns = started_ns + alarm.at_ns if alarm else None
            if interruption.asked and not outcome.interrupted:
                outcome.interrupted = True
                child.send_signal(signal.SIGINT)
                descriptors.drop(interruption.fileno())
                ends_ns = min(ends_ns, now_ns + INTERRUPTED_GRACE_NS)
            if now_ns >= ends_ns:
                outcome.overdue = True
                child.kill()
                ends_ns = now_ns + INTERRUPTED_GRACE_NS
            wake_ns = min(ends_ns, now_ns + TICK_NS, *([alarm_ns] if alarm_ns is not None else []))
            ended = descriptors.wait(max(0, wake_ns - now_ns))
            outcome.died += [name for name in ended if name != "child"]
            if "child" in ended:
                outcome.wall_ns = clock() - started_ns
                return outcome
            tick()


class _Descriptors:
    """The descriptors waited on; process descriptors are ours to close."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._own: list[int] = []

    def __enter__(self) -> _Descriptors:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for descriptor in self._own:
            os.close(descriptor)

    def process(self, process: subprocess.Popen[bytes], name: str) -> None:
        if process.returncode is not None:
            return
        descriptor = os.pidfd_open(process.pid)
        self._own.append(descriptor)
        self.add(descriptor, name)

    def add(self, descriptor: int, name: str | None) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, name)

    def drop(self, descriptor: int) -> None:
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def wait(self, timeout_ns: int) -> list[str]:
        """The names of processes that have ended; each is told once."""
        ended = []
        for key, _ in self._selector.select(timeout_ns / NS_PER_S):
            if key.data is not None:
                self._selector.unregister(key.fd)
                ended.append(key.data)
        return ended
