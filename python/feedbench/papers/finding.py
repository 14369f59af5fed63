"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """`UNDECIDED`: the study doesn't print what it would take, or not to enough places."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


OUTCOME_WORDS = {
    Outcome.HOLDS: "holds",
    Outcome.FAILS: "does not hold",
    Outcome.UNDECIDED: "cannot be decided from print",
}


@dataclass(frozen=True)
class Finding:
    """`claim`: what was checked; `numbers`: with which figures; `where`: where these are printed.

    `shows`: what is known to stand in `numbers`. `row` is 0 for a check of something else than one row of
    `table`.
    """

    check: str
    claim: str
    outcome: Outcome
    numbers: str
    where: tuple[str, ...]
    meaning: str
    expected: Outcome
    shows: str = ""
    table: str = ""
    row: int = 0

    @property
    def surprising(self) -> bool:
        """Other than the study's file says: a number was altered, or is not what we know."""
        return self.outcome is not self.expected or self.shows not in self.numbers
