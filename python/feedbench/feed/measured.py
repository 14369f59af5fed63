"""From a ledger and a client's record to the samples of its cell: pure.

A cell's samples are its messages' births (as intended times), sends and receipts, so that what the analysis
calls latency from the intended time is the event's age, and lateness is what the exchange took to send.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedbench.feed.join import Joined, join
from feedbench.feed.ledger import Ledger
from feedbench.feed.received import Received
from feedbench.samples import RECORD, Records
from feedbench.target import Door

NOT_MEASURED = -1


@dataclass(frozen=True)
class Window:
    """What counts: after `warmup_ns` from the opening of the market, before `until_ns` from then, and,
    `sliced`, what was born later than `drop_ns` after the first message of its slice.
    """

    warmup_ns: int
    sliced: bool
    drop_ns: int
    until_ns: int | None = None


@dataclass(frozen=True)
class MeasuredFeed:
    """`measured` and `warm` (dtype samples.RECORD) of one client; `joined` has all that it received.

    `lost` counts messages of the measured part alone; `slices` is how many the client was given there.
    """

    joined: Joined
    measured: Records
    warm: Records
    lost: int
    slices: int
    sliced: bool


def slices_of(ledger: Ledger, window: Window) -> NDArray[np.int64]:
    """For each message of the ledger the number of its slice, or NOT_MEASURED.

    The ledger does not name slices: one is a run of messages to one connection. Two turns of a client that
    follow one another are so taken for one, and a slice is thought to begin with its first message.
    """
    messages = ledger.messages
    born_ns = messages["born_ns"].astype(np.int64)
    numbers = np.zeros(len(messages), dtype=np.int64)
    opened_ns = int(ledger.header["opened_ns"])
    counts = born_ns >= opened_ns + window.warmup_ns
    if window.until_ns is not None:
        counts &= born_ns < opened_ns + window.until_ns
    if window.sliced and len(messages):
        connection = messages["connection"]
        begins = np.concatenate([[True], connection[1:] != connection[:-1]])
        numbers = np.cumsum(begins) - 1
        first_ns = born_ns[begins][numbers]
        counts &= born_ns - first_ns >= window.drop_ns
    return np.where(counts, numbers, NOT_MEASURED)


def measure(
    received: Received, ledger: Ledger, connection: int, window: Window, door: Door = "ws"
) -> MeasuredFeed:
    """What the client with this connection had of what it was sent through its door."""
    mine = ledger.is_for(connection, door)
    numbers = slices_of(ledger, window)[mine]
    joined = join(received, ledger.messages[mine])
    records = np.zeros(len(joined.place), dtype=RECORD)
    for name, values in (
        ("intended_ns", joined.sent["born_ns"]),
        ("sent_ns", joined.sent["sent_ns"]),
        ("received_ns", joined.received_ns),
    ):
        records[name] = values
    of_records = numbers[joined.place]
    counted = of_records != NOT_MEASURED
    # Slices are numbered within the cell, as the engine does.
    _, within = np.unique(of_records[counted], return_inverse=True)
    measured = records[counted]
    measured["slice"] = within
    return MeasuredFeed(
        joined=joined,
        measured=measured,
        warm=records[~counted],
        lost=int(np.count_nonzero(numbers[joined.lost_place] != NOT_MEASURED)),
        slices=max(1, len(np.unique(of_records[counted]))),
        sliced=window.sliced,
    )
