"""What became of each message that a client recorded: nothing is left out without being counted."""

from __future__ import annotations

from dataclasses import dataclass

from feedbench.pipeline.common import Common
from feedbench.pipeline.dialect import NOT_JSON
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.tally import Tally

TYPES_TOLD = 8


@dataclass(frozen=True)
class LeftOut:
    """Messages without an event time, by what they call themselves."""

    type: str
    messages: int


@dataclass(frozen=True)
class Account:
    """`events` have an event time; of these, `repeated` say what this client was told before, word for word
    (the paper's unique key loses them), and `common` are those that all clients of the exchange received.
    Times are None without messages; `duration_ms` counts only while a file was written.
    """

    messages: int
    events: int
    repeated: int
    common: int
    left_out: tuple[LeftOut, ...]
    connections: int | None
    first_unix_ms: int | None
    last_unix_ms: int | None
    duration_ms: int | None
    payload_bytes: int
    smallest_bytes: int
    largest_bytes: int

    @property
    def per_second(self) -> float | None:
        return self.messages * 1000 / self.duration_ms if self.duration_ms else None


def account(files: SeriesFiles, tally: Tally, common: Common) -> Account:
    """Of one series."""
    first, last = tally.first_unix_ms, tally.last_unix_ms
    from_receipts = last - first if first is not None and last is not None else None
    return Account(
        messages=tally.messages,
        events=tally.events,
        repeated=common.repeated,
        common=common.ages.count,
        left_out=_left_out(tally),
        connections=files.connections,
        first_unix_ms=first,
        last_unix_ms=last,
        duration_ms=from_receipts if files.duration_ms is None else files.duration_ms,
        payload_bytes=tally.payload_bytes,
        smallest_bytes=tally.smallest_bytes or 0,
        largest_bytes=tally.largest_bytes or 0,
    )


def _left_out(tally: Tally) -> tuple[LeftOut, ...]:
    """What is no JSON, then the most frequent types, equally frequent ones by name; the rest together."""
    ordered = sorted(
        (LeftOut(type, count) for type, count in tally.left_out),
        key=lambda each: (each.type != NOT_JSON, -each.messages, each.type),
    )
    rest = sum(each.messages for each in ordered[TYPES_TOLD:])
    return (*ordered[:TYPES_TOLD], *([LeftOut("others", rest)] if rest else []))
