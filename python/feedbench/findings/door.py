"""What came through each door of an exchange, each quantity under its own name (METHODOLOGY.md, Doors)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from feedbench.findings.cell import Estimate
from feedbench.findings.comparison import Interval
from feedbench.plan import FactorValue
from feedbench.target import Door


@dataclass(frozen=True)
class PollingFinding:
    """The mean age of what polls tell, beside what polling makes of it: U(0, interval) + RTT/2.

    `law_ns` reaches from both ways' being all of the round trip there to all of it back, medians over blocks;
    in `blocks_held` of the blocks the law's interval and that of the age overlapped.
    """

    interval_ns: int
    mean_age_ns: Estimate
    law_ns: Interval
    blocks: int
    blocks_held: int
    round_trip_ns: Estimate
    polling_delay_ns: Estimate


@dataclass(frozen=True)
class DoorFinding:
    """One cell's, over its blocks: medians of the blocks' medians (of ages and batches) or means (the rest).

    `batch_ns`: from birth until the exchange began to write; None over REST, where nothing is written for
    an event. `message_bytes` are a message's as the library handed it over, `wire_bytes` with the framing
    that TCP carried. `cpu_ns` is the client's for a message; `parse_ns` what decoding adds to it, where the
    same client ran with and without.
    """

    cell: str
    target: str
    door: Door
    exchange: str
    factors: Mapping[str, FactorValue]
    age_ns: Estimate
    batch_ns: Estimate
    message_bytes: Estimate
    wire_bytes: Estimate
    cpu_ns: Estimate
    parse_ns: Estimate
    polling: PollingFinding | None
