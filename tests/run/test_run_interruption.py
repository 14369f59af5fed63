"""^C and SIGTERM as a count, a wake-up and, where asked for, an exception that can't get lost."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress

import pytest

from feedbench.run.interruption import Interrupted, Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_counted_and_wakes(number: signal.Signals) -> None:
    with Interruption() as interruption:
        assert not interruption.asked
        assert select.select([interruption], [], [], 0)[0] == []
        os.kill(os.getpid(), number)
        assert interruption.asked
        assert select.select([interruption], [], [], 0)[0] == [interruption]


def interrupt_and_wait() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


def lose_the_first() -> None:
    with suppress(Interrupted):  # as if it had struck inside a finaliser
        interrupt_and_wait()
    time.sleep(5)


def test_a_signal_raises_where_it_was_asked_to() -> None:
    with Interruption() as interruption:
        with pytest.raises(Interrupted), interruption.raising():
            interrupt_and_wait()
        # And one that came before does so, too.
        with pytest.raises(Interrupted), interruption.raising():
            pytest.fail("the block was entered")


def test_an_exception_that_got_lost_is_raised_again() -> None:
    with Interruption() as interruption, pytest.raises(Interrupted), interruption.raising():
        lose_the_first()


def test_clean_up_is_not_cut_off() -> None:
    cleaned: list[str] = []

    def interrupted_with_clean_up() -> None:
        try:
            interrupt_and_wait()
        finally:
            time.sleep(0.7)  # longer than it takes to raise again
            cleaned.append("all")

    with Interruption() as interruption, pytest.raises(Interrupted), interruption.raising():
        interrupted_with_clean_up()
    assert cleaned == ["all"]
