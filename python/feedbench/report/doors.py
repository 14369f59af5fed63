"""The section of a run that came through several doors, or in several encodings: quantities kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedbench.findings import Estimate
from feedbench.findings.door import DoorFinding, PollingFinding
from feedbench.report.figures.doors import DOORS, door_figures
from feedbench.report.figures.figure import Figure
from feedbench.report.numbers import DASH, duration, estimate_words
from feedbench.report.sentences import joined
from feedbench.report.tables import Table

# What the study set side by side under one word; scenarios/papers/grandhi.toml plays it.
PAPER = (
    "Grandhi and Yadagiri (2026) set three quantities side by side: half of a REST call's round trip (which "
    "no message takes and which holds no polling delay), the age of a WebSocket event with the exchange's "
    "batching in it and across two clocks, and the echo of a FIX message that tells of no event. Here one "
    "market, one clock and one quantity serve both doors that push, and what polls tell has a quantity and "
    "an axis of its own."
)


@dataclass(frozen=True)
class DoorsSection:
    """A heading, what it says in words, figures, each with one quantity on its axis, and the table."""

    heading: str
    sentences: list[str]
    figures: list[Figure]
    tables: list[Table]


def doors_section(doors: Sequence[DoorFinding]) -> DoorsSection | None:
    """None where there is one door and one exchange only."""
    if not doors:
        return None
    polled = [(entry, entry.polling) for entry in doors if entry.polling is not None]
    several_doors = len({entry.door for entry in doors}) > 1
    said = [*_ages(doors), *(_law(entry, polling) for entry, polling in polled)]
    return DoorsSection(
        heading="Doors" if several_doors and len({entry.exchange for entry in doors}) == 1 else "Encodings",
        sentences=[*said, PAPER] if polled else said,
        figures=door_figures(doors),
        tables=[_table(doors), *([_polling_table(polled)] if polled else [])],
    )


def _ages(doors: Sequence[DoorFinding]) -> list[str]:
    """From the youngest to the oldest median, of those that listen: by door, or by exchange."""
    by_door = len({entry.exchange for entry in doors}) == 1
    ages: dict[str, list[float]] = {}
    for entry in doors:
        if entry.door != "rest" and entry.age_ns.value is not None:
            ages.setdefault(DOORS[entry.door] if by_door else entry.exchange, []).append(entry.age_ns.value)
    if not ages:
        return []
    words = [
        f"{duration(min(values))} to {duration(max(values))} over {name}"
        if len(values) > 1
        else f"{duration(values[0])} over {name}"
        for name, values in ages.items()
    ]
    return [f"The median age of an event when a library handed it over was {joined(words)}."]


def _law(entry: DoorFinding, polling: PollingFinding) -> str:
    mean = polling.mean_age_ns.value
    return (
        f"{entry.target} asked every {duration(polling.interval_ns)}: what it was told was "
        f"{duration(mean) if mean is not None else DASH} old in the mean, where the law U(0, T) + RTT/2 says "
        f"{duration(polling.law_ns[0])} to {duration(polling.law_ns[1])} "
        f"(the two agreed in {polling.blocks_held} of {polling.blocks} blocks)."
    )


def _table(doors: Sequence[DoorFinding]) -> Table:
    rows = tuple(
        (
            entry.target,
            DOORS[entry.door],
            entry.exchange,
            ", ".join(f"{key} {value}" for key, value in entry.factors.items() if key == "parse") or DASH,
            _time(entry.age_ns) if entry.door != "rest" else DASH,
            _time(entry.batch_ns),
            _bytes(entry.message_bytes),
            _bytes(entry.wire_bytes),
            _time(entry.cpu_ns),
            _time(entry.parse_ns),
        )
        for entry in doors
    )
    return Table(
        "Medians over blocks with 95 % intervals. Event age at receipt, by the exchange's ledger; time in "
        "the exchange's batch, from birth until it began to write; a message's bytes as handed over and with "
        "its framing; the client's CPU time for a message, and what decoding adds to it",
        (
            *("Client", "Door", "Exchange", "Decoding", "Event age", "In the batch"),
            *("Bytes", "On the wire", "CPU", "Parse"),
        ),
        rows,
        frozenset(range(4, 10)),
    )


def _polling_table(polled: Sequence[tuple[DoorFinding, PollingFinding]]) -> Table:
    rows = tuple(
        (
            entry.target,
            duration(polling.interval_ns),
            _time(polling.mean_age_ns),
            f"{duration(polling.law_ns[0])} to {duration(polling.law_ns[1])}",
            _time(polling.polling_delay_ns),
            _time(polling.round_trip_ns),
            DASH if polling.round_trip_ns.value is None else duration(polling.round_trip_ns.value / 2),
            f"{polling.blocks_held} of {polling.blocks}",
        )
        for entry, polling in polled
    )
    return Table(
        "What polls tell: age = polling delay + round trip, so that the interval between questions rules it",
        (
            *("Poller", "Interval", "Mean age", "The law's", "Polling delay (p50)"),
            *("Round trip (p50)", "Half of it", "Blocks that agree"),
        ),
        rows,
        frozenset(range(1, 8)),
    )


def _time(estimate: Estimate) -> str:
    return estimate_words(estimate.value, estimate.interval)


def _bytes(estimate: Estimate) -> str:
    return DASH if estimate.value is None else f"{estimate.value:,.0f}"
