"""^C and SIGTERM, as a count that a waiting loop can look at and a file descriptor that wakes it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

HARD_STOP_STATUS = 130
AGAIN_S = 0.5


class Interrupted(BaseException):
    """Raised by a signal where the code asked for it: while something is waited for that may never come."""


class Interruption:
    """Once: end what runs, write what there is. Twice: end now.

    A second signal leaves by `os._exit`: every child asked the kernel to be killed when its parent ends, so
    nothing survives it, and no clean-up can hang.
    """

    def __init__(self) -> None:
        self.count = 0
        self._raising = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)
        signal.signal(signal.SIGALRM, self._again)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.close(self._reader)
        os.close(self._writer)

    def fileno(self) -> int:
        """Readable from the first signal on; never drained, because nothing takes an interruption back."""
        return self._reader

    @property
    def asked(self) -> bool:
        """Whether the run was asked to stop."""
        return self.count > 0

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Within, a signal raises Interrupted at once, and so does one that came before.

        A handler's exception is lost when it strikes inside a finaliser, so it is raised again each half
        second until the block is left.
        """
        if self.asked:
            raise Interrupted
        self._raising = True
        try:
            yield
        finally:
            self._raising = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            os._exit(HARD_STOP_STATUS)
        os.write(self._writer, b"!")
        if self._raising:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
            raise Interrupted

    def _again(self, number: int, frame: FrameType | None) -> None:
        # Clean-up that the first one set going must not be cut off by the next.
        if self._raising and not isinstance(sys.exc_info()[1], Interrupted):
            raise Interrupted
