"""Quantities are kept apart: each observation gives those that it holds, with what the clocks leave open."""

from __future__ import annotations

from pathlib import Path

from feedbench.clock_offset.estimate import estimate_offset
from feedbench.clock_offset.sample import ClockSample
from feedbench.collectors.observation import Door, Observation
from feedbench.doors.convert import Measured, first_told, paper_records, quantities
from feedbench.doors.quantity import (
    EVENT_AGE,
    HALF_ROUND_TRIP,
    PARSE,
    POLLING_DELAY,
    QUANTITIES,
    ROUND_TRIP,
    Quantity,
)
from feedbench.doors.store import paper_order

MS = 1_000_000
OFFSET_NS = 1_795_000_000_000_000_000  # the exchange's Unix time less the local clock
SAMPLES = [ClockSample(at * MS, OFFSET_NS + at * MS + MS, at * MS + 2 * MS) for at in range(0, 1_000, 100)]
OFFSET = estimate_offset(SAMPLES)


def seen(
    door: Door, received_ms: float, *, event_ms: float | None = None, took_ms: float | None = None,
    snapshot: bool = False,
) -> Observation:  # fmt: skip
    received_ns = round(received_ms * MS)
    return Observation(
        door=door,
        venue="coinbase",
        symbol="BTC-USD",
        sent_ns=None if took_ms is None else received_ns - round(took_ms * MS),
        received_ns=received_ns,
        parsed_ns=None if door == "fix" else received_ns + 50_000,
        event_unix_ns=None if event_ms is None else OFFSET_NS + round(event_ms * MS),
        payload_bytes=100,
        snapshot=snapshot,
    )


def of(measured: list[Measured], quantity: Quantity) -> list[float]:
    return [round(each.value.value_ns / MS, 3) for each in measured if each.quantity == quantity]


def test_the_papers_latency_is_another_quantity_for_each_protocol() -> None:
    observations = [
        seen("rest", 500, event_ms=450, took_ms=8),
        seen("websocket", 500, event_ms=470),
        seen("websocket", 499, event_ms=100, snapshot=True),
        seen("fix", 500, took_ms=0.4),
    ]
    rest, feed, snapshot, fix = paper_records(observations, OFFSET.paper_offset_ns)
    assert (rest.protocol, rest.event_type, rest.latency_ms, rest.rtt_ms) == ("REST", "ticker", 4.0, 8.0)
    assert (feed.protocol, feed.event_type, feed.rtt_ms) == ("WebSocket", "ticker", None)
    assert abs(feed.latency_ms - 30) < 0.001
    assert snapshot.event_type == "snapshot"
    assert (fix.protocol, fix.event_type, fix.latency_ms, fix.rtt_ms) == ("FIX", "rtt", 0.2, 0.4)
    # Without the exchange's time a WebSocket message has no latency, and none is made up.
    assert [record.protocol for record in paper_records(observations, None)] == ["REST", "FIX"]


def test_rest_ages_are_of_the_first_answer_that_tells_of_an_event() -> None:
    polls = [
        seen("rest", 100, event_ms=20, took_ms=2),  # the event is from before anybody asked
        seen("rest", 120, event_ms=110, took_ms=2),
        seen("rest", 140, event_ms=110, took_ms=2),  # nothing new
        seen("rest", 160, event_ms=150, took_ms=2),
    ]
    assert [each.received_ns // MS for each in first_told(polls)] == [120, 160]
    measured = quantities(polls, OFFSET)
    assert of(measured, EVENT_AGE) == [10, 10]
    assert of(measured, POLLING_DELAY) == [8, 8]
    assert of(measured, ROUND_TRIP) == [2, 2, 2, 2]
    assert of(measured, HALF_ROUND_TRIP) == [1, 1, 1, 1]
    assert of(measured, PARSE) == [0.05] * 4


def test_two_events_of_one_moment_are_two_on_a_feed() -> None:
    twice = [seen("websocket", 100, event_ms=90), seen("websocket", 101, event_ms=90)]
    assert of(quantities(twice, OFFSET), EVENT_AGE) == [10, 11]


def test_ages_carry_what_the_clocks_leave_open_and_round_trips_nothing() -> None:
    measured = quantities(
        [seen("rest", 99, event_ms=1, took_ms=2), seen("websocket", 99, event_ms=90)], OFFSET
    )
    for each in measured:
        assert each.value.interval_ns is not None
        open_ns = each.value.interval_ns.width
        if each.quantity.needs_offset:
            assert MS < open_ns < 2.3 * MS, each
        else:
            assert open_ns == 0
    assert of(quantities([seen("websocket", 99, event_ms=90)], None), EVENT_AGE) == []


def test_the_order_of_the_paper_is_undecided_inside_the_interval() -> None:
    def order(age_ms: float) -> str | None:
        polls = [seen("rest", at, event_ms=at - 1, took_ms=8) for at in range(100, 200, 10)]
        feed = [seen("websocket", at, event_ms=at - age_ms) for at in range(100, 200, 10)]
        return paper_order(quantities([*polls, *feed], OFFSET))

    assert order(4.5) == "undecided"
    assert order(3.5) == "undecided"
    assert order(9) == "rest"
    assert order(1) == "websocket"
    assert paper_order([]) is None


def test_every_quantity_is_defined_in_the_methodology() -> None:
    text = (Path(__file__).parents[2] / "METHODOLOGY.md").read_text(encoding="utf-8")
    section = text[text.index("## Doors") :]
    for quantity in QUANTITIES:
        assert f"`{quantity.name}`" in section, quantity.name
