"""How a conversation ends when it does not go as its case says."""

from __future__ import annotations

from feedbench.verify.case import Level


class DepartureError(Exception):
    """The peer did something else than the case expects; the message says what.

    `level` is set where the RFC's word for this one thing is weaker than the case's.
    """

    def __init__(self, what: str, *, level: Level | None = None) -> None:
        super().__init__(what)
        self.level = level


class SilenceError(DepartureError):
    """Nothing came in time: the peer's fault, or that of a machine with much else to do."""


class RefusalError(Exception):
    """The peer said, in a way that the case allows, that it does not do this."""


class ConclusionError(Exception):
    """The case is over before its last step, and well: the peer did the other thing that is right too."""
