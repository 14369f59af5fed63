"""The waiting loop: who died, who was late, and what ^C does."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from feedbench.run.watch import Alarm, watch

S = 1_000_000_000


class Asked:
    """Stands in for an Interruption that came before the wait, or never comes."""

    def __init__(self, *, asked: bool) -> None:
        self.asked = asked
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        return self._reader

    @contextmanager
    def raising(self) -> Iterator[None]:
        yield


def start(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command)


@pytest.fixture
def never() -> Asked:
    return Asked(asked=False)


def test_a_child_that_ends_is_not_yet_reaped(never: Asked) -> None:
    child = start("sleep", "0.05")
    watched = watch(child, bystanders={}, interruption=never, deadline_ns=10 * S)
    assert (watched.overdue, watched.interrupted, watched.died) == (False, False, [])
    assert os.path.exists(f"/proc/{child.pid}/schedstat")
    assert child.wait() == 0


def test_bystanders_that_die_are_named_once(never: Asked) -> None:
    child, early, late = start("sleep", "0.3"), start("sleep", "0.05"), start("sleep", "60")
    watched = watch(child, bystanders={"early": early, "late": late}, interruption=never, deadline_ns=10 * S)
    late.kill()
    late.wait()
    early.wait()
    child.wait()
    assert watched.died == ["early"]


def test_a_child_beyond_its_deadline_is_killed(never: Asked) -> None:
    child = start("sleep", "60")
    watched = watch(child, bystanders={}, interruption=never, deadline_ns=S // 20)
    assert watched.overdue
    assert child.wait() == -signal.SIGKILL


def test_an_interruption_is_passed_on_as_sigint() -> None:
    child = start("sleep", "60")
    watched = watch(child, bystanders={}, interruption=Asked(asked=True), deadline_ns=20 * S)
    assert (watched.interrupted, watched.overdue) == (True, False)
    assert child.wait() == -signal.SIGINT


def test_an_alarm_rings_once_and_ticks_go_on(never: Asked) -> None:
    rung: list[str] = []
    child = start("sleep", "0.2")
    watch(
        child,
        bystanders={},
        interruption=never,
        deadline_ns=10 * S,
        alarm=Alarm(S // 20, lambda: rung.append("alarm")),
        tick=lambda: rung.append("tick"),
    )
    child.wait()
    assert rung.count("alarm") == 1
    assert "tick" in rung


def test_an_alarm_after_the_end_never_rings(never: Asked) -> None:
    rung: list[str] = []
    child = start("true")
    alarm = Alarm(60 * S, lambda: rung.append("alarm"))
    watch(child, bystanders={}, interruption=never, deadline_ns=10 * S, alarm=alarm)
    child.wait()
    assert rung == []
