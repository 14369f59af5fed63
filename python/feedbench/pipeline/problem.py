"""What can be wrong with what was received, each under its own name: nothing is averaged in silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from feedbench.pipeline.series import Series

Kind = Literal[
    "empty",  # no message at all
    "cut_short",  # the file ends within a record or a page
    "killed",  # its client ended without closing it
    "not_json",  # messages that are no JSON text
    "no_event_time",  # messages that do not say when their event happened
    "clock_behind",  # receipt before the event: the recorder's clock is behind the exchange's
    "nothing_common",  # no event that all clients received
    "coarse",  # clients differ by no more than the unit of their ages
    "alone",  # an exchange with one client has nobody to compare it with
]


@dataclass(frozen=True)
class Problem:
    """`what` is a whole sentence. `series` is None where it is about a whole exchange, named in `what`."""

    kind: Kind
    what: str
    series: Series | None = None

    def __str__(self) -> str:
        return f"{self.series}: {self.what}" if self.series else self.what
