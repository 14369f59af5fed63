"""From what collectors saw to the paper's records, and to our own quantities, each with its clock's
interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from feedbench.clock_offset.estimate import OffsetEstimate, OneWay, one_way
from feedbench.clock_offset.sample import ClockSample, Interval
from feedbench.collectors.observation import Door, Observation
from feedbench.doors.quantity import (
    EVENT_AGE,
    HALF_ROUND_TRIP,
    PARSE,
    POLLING_DELAY,
    ROUND_TRIP,
    Quantity,
)
from feedbench.doors.record import LatencyRecord, Protocol

PROTOCOL: dict[Door, Protocol] = {"rest": "REST", "websocket": "WebSocket", "fix": "FIX"}


@dataclass(frozen=True)
class Measured:
    """One value of one quantity."""

    door: Door
    quantity: Quantity
    received_ns: int
    value: OneWay


def paper_records(observations: Iterable[Observation], offset_ns: float | None) -> Iterator[LatencyRecord]:
    """As the study would have written them, with its offset; without one, WebSocket has no latency.

    What a subscription is answered with at once is kept under an event type of its own.
    """
    for seen in observations:
        if seen.round_trip_ns is not None:
            round_trip_ms = seen.round_trip_ns / 1e6
            latency_ms = round_trip_ms / 2
        elif seen.event_unix_ns is not None and offset_ns is not None:
            # Equation 3: t_local − (t_server − Δ). Whole numbers first, a float keeps 256 ns of Unix time.
            based_ns = round(offset_ns)
            latency_ms = (seen.received_ns - seen.event_unix_ns + based_ns + (offset_ns - based_ns)) / 1e6
            round_trip_ms = None
        else:
            continue
        yield LatencyRecord(
            timestamp_ns=seen.received_ns,
            protocol=PROTOCOL[seen.door],
            provider=seen.venue,
            symbol=seen.symbol,
            event_type="snapshot" if seen.snapshot else "rtt" if seen.door == "fix" else "ticker",
            server_time_ns=seen.event_unix_ns,
            latency_ms=latency_ms,
            rtt_ms=round_trip_ms,
        )


def time_records(samples: Iterable[ClockSample], provider: str, symbol: str) -> Iterator[LatencyRecord]:
    """The questions for the exchange's time, which the study records as REST's, too."""
    for sample in samples:
        rtt_ms = sample.round_trip_ns / 1e6
        yield LatencyRecord(
            timestamp_ns=sample.received_ns,
            protocol="REST",
            provider=provider,
            symbol=symbol,
            event_type="time",
            server_time_ns=sample.remote_ns,
            latency_ms=rtt_ms / 2,
            rtt_ms=rtt_ms,
        )


def quantities(observations: Sequence[Observation], offset: OffsetEstimate | None) -> list[Measured]:
    """Every quantity that the observations hold. Ages are of the first message that told of an event."""
    measured: list[Measured] = []
    for seen in observations:
        if seen.parse_ns is not None:
            measured.append(_local(seen, PARSE, seen.parse_ns))
        if seen.round_trip_ns is not None:
            measured.append(_local(seen, ROUND_TRIP, seen.round_trip_ns))
            measured.append(_local(seen, HALF_ROUND_TRIP, seen.round_trip_ns / 2))
    if offset is not None:
        for seen in first_told(observations):
            measured.extend(_across(seen, offset))
    return measured


def first_told(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Those that told of an event that no earlier one of their door had told of.

    A door's first answer tells of an event from before anybody listened, as does a snapshot: left out.
    """
    newest: dict[Door, int] = {}
    for seen in observations:
        if seen.event_unix_ns is None:
            continue
        known = newest.get(seen.door)
        newest[seen.door] = max(seen.event_unix_ns, known or seen.event_unix_ns)
        if seen.snapshot or (known is None and seen.door == "rest"):
            continue
        if known is None or seen.event_unix_ns > known or seen.door == "websocket":
            yield seen


def middle(values: Sequence[OneWay]) -> OneWay:
    """The median of delays of one quantity, with the widest that the clock leaves it."""
    value_ns = median(value.value_ns for value in values)
    known = [value.interval_ns for value in values if value.interval_ns is not None]
    if len(known) < len(values):
        return OneWay(value_ns, None)
    below = max(value.value_ns - value.interval_ns.low for value in values if value.interval_ns)
    above = max(value.interval_ns.high - value.value_ns for value in values if value.interval_ns)
    return OneWay(value_ns, Interval(value_ns - below, value_ns + above))


def _local(seen: Observation, quantity: Quantity, value_ns: float) -> Measured:
    """On one clock: the interval is the value."""
    return Measured(seen.door, quantity, seen.received_ns, OneWay(value_ns, Interval(value_ns, value_ns)))


def _across(seen: Observation, offset: OffsetEstimate) -> Iterator[Measured]:
    event_ns = seen.event_unix_ns
    if event_ns is None:
        return
    age = one_way(offset, remote_ns=event_ns, received_ns=seen.received_ns)
    yield Measured(seen.door, EVENT_AGE, seen.received_ns, age)
    if seen.sent_ns is not None:
        delay = one_way(offset, remote_ns=event_ns, received_ns=seen.sent_ns)
        yield Measured(seen.door, POLLING_DELAY, seen.received_ns, delay)
