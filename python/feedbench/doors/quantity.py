"""What a number of milliseconds is: one name, one definition, one axis for each (METHODOLOGY.md, "Doors")."""

from __future__ import annotations

from dataclasses import dataclass

from feedbench.doors.record import Protocol


@dataclass(frozen=True)
class Quantity:
    """`name` heads columns, with the unit behind it; `title` heads axes."""

    name: str
    title: str
    definition: str
    needs_offset: bool  # a time of the exchange's clock is in it


ROUND_TRIP = Quantity(
    "round_trip", "Round trip", "from the moment a question is sent until its answer is handed over", False
)
HALF_ROUND_TRIP = Quantity(
    "half_round_trip", "Half a round trip", "a round trip divided by two; no message took this long", False
)
EVENT_AGE = Quantity(
    "event_age",
    "Event age at receipt",
    "from the event's time by the exchange until the message that tells of it first is handed over",
    True,
)
BATCH = Quantity(
    "batch",
    "Time in the exchange's batch",
    "from an event's birth until the exchange begins to write the message that tells of it, by its ledger",
    False,
)
POLLING_DELAY = Quantity(
    "polling_delay",
    "Polling delay",
    "from the event's time by the exchange until the question that is first answered with it is sent",
    True,
)
PARSE = Quantity("parse", "Parse time", "from handing over until the message is understood", False)

QUANTITIES = (ROUND_TRIP, HALF_ROUND_TRIP, EVENT_AGE, BATCH, POLLING_DELAY, PARSE)

# What the paper prints of each protocol under the one word "latency". Of FIX it does not say whether it is
# the round trip or half of it; its schema calls `latency_ms` a one-way estimate, so here it is half.
PAPER_QUANTITY: dict[Protocol, Quantity] = {
    "FIX": HALF_ROUND_TRIP,
    "REST": HALF_ROUND_TRIP,
    "WebSocket": EVENT_AGE,
}
