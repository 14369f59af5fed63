"""What was received, joined with what was sent: a pure function of a client's record and a ledger.

The rule is that of spec/ledger.md: a message's record is the first with the same length and CRC-32 that no
earlier message has taken. So the n-th receipt of a payload belongs to the n-th time that it was sent, and
true duplicates neither multiply nor vanish.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedbench.feed.ledger import Keys, keys_of_messages
from feedbench.feed.received import Received
from feedbench.samples import Nanoseconds

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Joined:
    """`place` in `messages` (dtype ledger.MESSAGE) and `received_ns` of what arrived, in order of receipt.

    `replies` came before the first event and are not in the ledger: what an exchange answers to a connection
    or a subscription. `unknown` came later and were never sent so; `duplicated` were sent, but not so often.
    `lost_place`: those that were sent and did not arrive, not counting what a planted fault spoiled.
    """

    messages: NDArray[np.void]
    place: Indices
    received_ns: Nanoseconds
    lost_place: Indices
    replies: int
    unknown: int
    duplicated: int
    out_of_order: int

    @property
    def sent(self) -> NDArray[np.void]:
        """The ledger's records of what arrived, in the order of receipt."""
        records: NDArray[np.void] = self.messages[self.place]
        return records

    @property
    def lost(self) -> int:
        return len(self.lost_place)


def join(received: Received, messages: NDArray[np.void]) -> Joined:
    """`messages` are those of the ledger that the connection was to get."""
    keys = keys_of_messages(messages)
    place = match(received.keys, keys)
    arrived = place >= 0
    taken = np.zeros(len(messages), dtype=bool)
    taken[place[arrived]] = True
    begun = int(np.argmax(arrived)) if arrived.any() else len(place)
    strange = ~arrived
    strange[:begun] = False
    repeated = strange & np.isin(received.keys, keys)
    return Joined(
        messages=messages,
        place=place[arrived],
        received_ns=received.received_ns[arrived],
        lost_place=np.flatnonzero(~taken & (messages["fault"] == 0)),
        replies=int(np.count_nonzero(~arrived[:begun])),
        unknown=int(np.count_nonzero(strange & ~repeated)),
        duplicated=int(np.count_nonzero(repeated)),
        out_of_order=_descents(place[arrived]),
    )


def match(received: Keys, sent: Keys) -> Indices:
    """For each received key the place in `sent` of the same key and occurrence; −1 where there is none."""
    _, numbers = np.unique(np.concatenate([received, sent]), return_inverse=True)
    pairs = _occurrences(numbers[: len(received)]), _occurrences(numbers[len(received) :])
    mine, theirs = pairs
    order = np.argsort(theirs)
    at = np.searchsorted(theirs[order], mine)
    found = np.full(len(received), -1, dtype=np.int64)
    inside = np.flatnonzero(at < len(theirs))
    same = inside[theirs[order[at[inside]]] == mine[inside]]
    found[same] = order[at[same]]
    return found


def _occurrences(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Each number with how often it stood before, in one value."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.searchsorted(ordered, ordered)
    count = np.empty(len(numbers), dtype=np.uint64)
    count[order] = np.arange(len(numbers)) - first
    return numbers.astype(np.uint64) << np.uint64(32) | count


def _descents(places: Indices) -> int:
    """Messages that came after one that was sent later."""
    if len(places) == 0:
        return 0
    return int(np.count_nonzero(places < np.maximum.accumulate(places)))
