"""What the summary says, as a value that the Markdown and the HTML both print."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.analyze.table import Table as PaperTable
from feedbench.doors.campaign import Doors
from feedbench.doors.clock_page import clock_lines
from feedbench.doors.figures import PaperFigure
from feedbench.paths import read_json
from feedbench.report.numbers import DASH, duration
from feedbench.report.tables import Table

DIFFERENCES = (
    "The paper prints three quantities under one word. REST's is half a round trip: no message took "
    "this long, and no event is in it. FIX's is half a round trip to an echo on the same machine: no "
    "exchange is in it. WebSocket's is the age of an event, with the exchange's own delay and the error "
    "of two clocks in it. So the tables above can't say which protocol is faster, whatever their "
    "figures; they show what the study's method gives on this exchange.",
    "The tables below keep each quantity by itself. REST and WebSocket can be compared by the age of "
    "the event at receipt, which for REST is the polling delay plus a round trip. An age carries what "
    "the clocks leave open; where that is wider than a difference, the order is undecided.",
)
QUANTITY_COLUMNS = ("Door", "Quantity", "Count", "p50", "Clocks leave open", "p90", "p99")
TROUBLES = ("refused", "failed", "unreadable", "reconnects", "gaps", "missed")


@dataclass(frozen=True)
class Played:
    """One campaign: its quantities, what is known of the clocks, what the collectors met."""

    name: str
    quantities: Table
    clock: tuple[str, ...]
    collectors: tuple[str, ...]


@dataclass(frozen=True)
class Content:
    """Everything on the page; `tables` and `figures` are the paper's."""

    doors: Doors
    tables: Sequence[PaperTable]
    figures: Sequence[PaperFigure]
    campaigns: Sequence[Played]

    @property
    def scaled(self) -> str | None:
        """What a reader has to know of a run that was not played at its whole length."""
        if self.doors.scale == 1:
            return None
        return f"Played at {self.doors.scale:g} of its durations, which give the campaigns their names."


def read_played(name: str, folder: Path) -> Played:
    """From the files of one campaign."""
    document = read_json(folder / "collectors.json", needed_for="write the summary")
    with (folder / "quantities.csv").open(encoding="utf-8", newline="") as file:
        rows = tuple(_quantity_row(row) for row in csv.DictReader(file))
    table = Table(
        f"Campaign of {name}: every quantity of each door", QUANTITY_COLUMNS, rows, frozenset(range(2, 7))
    )
    order = document["half_round_trip_of_rest_or_age_of_websocket"]
    return Played(
        name,
        table,
        clock=(*clock_lines(document["clock"]), *_order_words(order)),
        collectors=tuple(_met(document["collectors"])),
    )


def _quantity_row(row: Mapping[str, str]) -> tuple[str, ...]:
    middle, low, high, p90, p99 = (
        float(row[name]) if row[name] else None
        for name in ("p50_ns", "p50_low_ns", "p50_high_ns", "p90_ns", "p99_ns")
    )
    if low is None or high is None:
        spread = "unknown"
    else:
        spread = f"±{duration((high - low) / 2)}" if high > low else DASH
    numbers = (duration(middle), spread, duration(p90), duration(p99))
    return (row["door"], row["quantity"].replace("_", " "), row["count"], *numbers)


def _order_words(order: str | None) -> Iterator[str]:
    if order is not None:
        word = "undecided: the clocks leave it open" if order == "undecided" else f"less is {order}'s"
        yield f"Half of REST's round trip against WebSocket's age, as the paper ranks them: {word}."


def _met(collectors: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for door, tally in collectors.items():
        troubles = [f"{name} {tally[name]}" for name in TROUBLES if tally[name]]
        waited = f", waited {tally['waited_s']:.1f} s" if tally["waited_s"] else ""
        yield f"{door}: {tally['messages']} messages; {', '.join(troubles) or 'no trouble'}{waited}."
