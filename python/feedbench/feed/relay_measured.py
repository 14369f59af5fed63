"""From receipts, a ledger and a relay's own record to what one relay did: pure.

Ages run from an event's birth by the ledger: to the relay's entrance, as the relay itself recorded it, and to
each client, as `feedbench-engine subscribe` did. All clocks are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedbench.feed.join import Indices, Joined, join
from feedbench.feed.ledger import Ledger
from feedbench.feed.measured import NOT_MEASURED, Window, slices_of
from feedbench.feed.receipts import Happened, Receipts, is_message, keys_of_receipts
from feedbench.feed.received import Received
from feedbench.feed.relay import Relay
from feedbench.samples import RECORD, Nanoseconds, Records

Signed = NDArray[np.int64]


@dataclass(frozen=True)
class Course:
    """One client: what it had of the messages, and where its connections began (by message)."""

    joined: Joined
    begins: tuple[int, ...]
    stopped_ns: int | None
    resumed_ns: int | None
    thrown_out: bool


@dataclass(frozen=True)
class MeasuredRelay:
    """`messages` are those of the ledger that the relay was to pass on; `numbers` their slices.

    `readers` are its clients but those that stopped reading (`slow`). `measured` and `warm` (dtype
    samples.RECORD) hold every receipt of every reader. `lost` counts the messages that a reader should have
    had: in the measured part, and in all. `away`: what was sent while a reader was not connected, which is
    nobody's loss.
    """

    messages: NDArray[np.void]
    numbers: Signed
    readers: tuple[Course, ...]
    slow: tuple[Course, ...]
    entrance: Joined | None
    measured: Records
    warm: Records
    slices: int
    lost: int
    lost_total: int
    away: int


def measure_relay(
    receipts: Receipts,
    entered: Received | None,
    ledger: Ledger,
    connection: int,
    window: Window,
    relay: Relay,
) -> MeasuredRelay:
    """What the relay with this connection to the exchange (its first, if it has several) passed on."""
    loses_upstream = relay.fault == "upstream-loss"
    # While nobody was connected the exchange sent to nobody: that is what such a relay missed.
    everything = np.ones(len(ledger.messages), dtype=bool)
    mine = everything if loses_upstream else ledger.is_for(connection)
    messages, numbers = ledger.messages[mine], slices_of(ledger, window)[mine]
    courses = [_course(records, messages) for records in receipts.each()]
    slow, readers = tuple(courses[: relay.slow]), tuple(courses[relay.slow :])
    entrance = None if entered is None else join(entered, messages)
    expected = [_expected(course, entrance, relay, len(messages)) for course in readers]
    missing = [_missing(course, wanted, messages) for course, wanted in zip(readers, expected, strict=True)]
    records = _records(readers, relay.slow, numbers)
    counted = records["slice"] != np.uint32(2**32 - 1)
    _, within = np.unique(records["slice"][counted], return_inverse=True)
    measured, warm = records[counted], records[~counted]
    measured["slice"] = within
    return MeasuredRelay(
        messages=messages,
        numbers=numbers,
        readers=readers,
        slow=slow,
        entrance=entrance,
        measured=measured,
        warm=warm,
        slices=max(1, len(np.unique(within))),
        lost=sum(int(np.count_nonzero(numbers[places] != NOT_MEASURED)) for places in missing),
        lost_total=sum(len(places) for places in missing),
        away=sum(int(np.count_nonzero(~wanted)) for wanted in expected),
    )


def _course(records: NDArray[np.void], messages: NDArray[np.void]) -> Course:
    arrived = is_message(records)
    received = Received(records["at_ns"][arrived], keys_of_receipts(records[arrived]), killed=False)
    before: Signed = np.cumsum(arrived) - arrived  # how many messages had come when something happened
    connected: Signed = before[records["kind"] == Happened.CONNECTED]

    def when(kind: Happened) -> int | None:
        found = records["at_ns"][records["kind"] == kind]
        return int(found[0]) if len(found) else None

    stopped_ns, resumed_ns = when(Happened.STOPPED), when(Happened.RESUMED)
    ended_ns = when(Happened.ENDED)
    return Course(
        joined=join(received, messages),
        begins=tuple(int(place) for place in connected),
        stopped_ns=stopped_ns,
        resumed_ns=resumed_ns,
        # A full window hides the end of the connection until the client reads again.
        thrown_out=stopped_ns is not None and ended_ns is not None and ended_ns >= stopped_ns,
    )


def _expected(course: Course, entrance: Joined | None, relay: Relay, messages: int) -> NDArray[np.bool_]:
    """Which messages the client should have had: all, or all that entered, or all while it was connected."""
    if relay.fault in ("none", "slow-consumer"):
        return np.ones(messages, dtype=bool)
    wanted = np.zeros(messages, dtype=bool)
    if relay.fault == "upstream-loss" and entrance is not None:
        wanted[entrance.place] = True
        return wanted
    place: Indices = course.joined.place
    bounds = [*course.begins[1:], len(place) + course.joined.replies]
    begin = 0
    for bound in bounds:
        inside = place[begin : max(begin, bound - course.joined.replies)]
        if len(inside):
            wanted[inside.min() : inside.max() + 1] = True
        begin = max(begin, bound - course.joined.replies)
    return wanted


def _missing(course: Course, wanted: NDArray[np.bool_], messages: NDArray[np.void]) -> Indices:
    lacking = wanted & (messages["fault"] == 0)
    lacking[course.joined.place] = False
    return np.flatnonzero(lacking)


def _records(readers: Sequence[Course], first: int, numbers: Signed) -> Records:
    parts = []
    for number, course in enumerate(readers, start=first):
        joined = course.joined
        part = np.zeros(len(joined.place), dtype=RECORD)
        part["intended_ns"] = joined.sent["born_ns"]
        part["sent_ns"] = joined.sent["sent_ns"]
        part["received_ns"] = joined.received_ns
        part["connection"] = number
        # NOT_MEASURED becomes the largest number there is.
        part["slice"] = numbers[joined.place].astype(np.uint32)
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty(0, RECORD)


def skew_ns(found: MeasuredRelay) -> Nanoseconds:
    """From the first reader's receipt to the last one's, of measured messages that all readers had."""
    if len(found.readers) < 2:
        return np.empty(0, np.uint64)
    first = np.full(len(found.messages), np.iinfo(np.uint64).max, dtype=np.uint64)
    last = np.zeros(len(found.messages), dtype=np.uint64)
    count = np.zeros(len(found.messages), dtype=np.int64)
    for course in found.readers:
        place, at_ns = course.joined.place, course.joined.received_ns
        first[place] = np.minimum(first[place], at_ns)
        last[place] = np.maximum(last[place], at_ns)
        count[place] += 1
    whole = (count == len(found.readers)) & (found.numbers != NOT_MEASURED)
    skew: Nanoseconds = last[whole] - first[whole]
    return skew


def wait_ns(found: MeasuredRelay) -> Signed:
    """From one message of a client to its next, in the measured part: what one that times its receive call
    reads, however late the messages are.
    """
    parts = []
    for course in found.readers:
        counted = found.numbers[course.joined.place] != NOT_MEASURED
        parts.append(np.diff(course.joined.received_ns[counted].astype(np.int64)))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def entrance_age_ns(found: MeasuredRelay) -> Signed:
    """From birth to the relay's own stamp, of measured messages; none where it keeps no record."""
    if found.entrance is None:
        return np.empty(0, np.int64)
    counted = found.numbers[found.entrance.place] != NOT_MEASURED
    return _since(found.entrance.received_ns[counted], found.entrance.sent["born_ns"][counted])


def inside_ns(found: MeasuredRelay) -> Signed:
    """From the relay's own stamp to each reader's, of measured messages: the second hop."""
    if found.entrance is None:
        return np.empty(0, np.int64)
    entered_ns = np.zeros(len(found.messages), dtype=np.int64)
    entered_ns[found.entrance.place] = found.entrance.received_ns.astype(np.int64)
    parts = []
    for course in found.readers:
        place = course.joined.place
        counted = (found.numbers[place] != NOT_MEASURED) & (entered_ns[place] > 0)
        parts.append(course.joined.received_ns[counted].astype(np.int64) - entered_ns[place[counted]])
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _since(later: NDArray[np.uint64], earlier: NDArray[np.uint64]) -> Signed:
    return later.astype(np.int64) - earlier.astype(np.int64)
