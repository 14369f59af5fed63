"""Reads the exchange's ledger (spec/ledger.md) and finds in it what a connection received."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from exchange_conformance.errors import ConformanceError
from feedbench.errors import RunDirectoryError
from feedbench.feed import ledger as of_run
from feedbench.feed.ledger import ALL_SUBSCRIBERS, key_of

__all__ = ["ALL_SUBSCRIBERS", "Ledger", "Proof", "Sent", "key_of", "prove", "read_ledger"]

Key = tuple[int, int]
_COLUMNS = ("stream", "connection", "recipients", "fault", "bytes", "crc32")


@dataclass(frozen=True, slots=True)
class Sent:
    """One message of the ledger."""

    stream: int
    connection: int
    recipients: int
    fault: int
    key: Key
    """Length and CRC-32 of the payload."""


class Candidates:
    """The messages that one connection may have got, and where each payload stands among them, by stream."""

    def __init__(self, messages: Sequence[Sent]) -> None:
        self.messages = messages
        self.places: defaultdict[Key, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        self.streams: defaultdict[int, list[int]] = defaultdict(list)
        for index, record in enumerate(messages):
            self.places[record.key][record.stream].append(index)
            self.streams[record.stream].append(index)

    def passed_over(self, stream: int, here: int, there: int) -> int:
        """How many messages of the stream lie between two places."""
        low, high = sorted((here, there))
        return bisect_left(self.streams[stream], high) - bisect_right(self.streams[stream], low)


@dataclass(frozen=True)
class Ledger:
    """All that a ledger tells of messages."""

    messages: Sequence[Sent]
    names: dict[int, str]
    complete: bool

    @cached_property
    def candidates(self) -> Sequence[Candidates]:
        """For each connection that it names: it does so where faults are planted."""
        connections = {record.connection for record in self.messages} - {ALL_SUBSCRIBERS}
        return [
            Candidates([sent for sent in self.messages if sent.connection in (ALL_SUBSCRIBERS, connection)])
            for connection in connections or {ALL_SUBSCRIBERS}
        ]


def read_ledger(path: Path) -> Ledger:
    """Reads up to the first record that is missing, cut or damaged; ConformanceError if it is no ledger."""
    try:
        ledger = of_run.read_ledger(path)
    except RunDirectoryError as error:
        raise ConformanceError(str(error)) from error
    columns = (ledger.messages[name].tolist() for name in _COLUMNS)
    messages = [
        Sent(stream, connection, recipients, fault, (length, crc))
        for stream, connection, recipients, fault, length, crc in zip(*columns, strict=True)
    ]
    return Ledger(messages, dict(ledger.names), ledger.complete)


@dataclass(frozen=True)
class Proof:
    """How a connection's messages compare with the ledger."""

    found: int
    strangers: Sequence[str]
    """Messages that the ledger says were never sent so."""
    lost: dict[str, int]
    """For each stream, messages between the first and the last that were found, which did not arrive."""

    @property
    def complaint(self) -> str | None:
        """What is wrong, in one line."""
        if self.strangers:
            first = self.strangers[0][:120]
            return f"{len(self.strangers)} of its messages are not in the ledger, first {first}"
        if self.lost:
            stream, count = next(iter(self.lost.items()))
            return f"{count} messages of {stream!r} are in the ledger and did not arrive"
        return None if self.found else "none of its messages is in the ledger"


def prove(payloads: Sequence[bytes], ledger: Ledger) -> Proof:
    """Finds a connection's messages in the ledger, in order.

    Which of the ledger's connections is ours it does not say: it is the one that explains most.
    """
    proofs = [_prove(payloads, candidates, ledger.names) for candidates in ledger.candidates]
    return max(proofs, key=lambda proof: proof.found)


def _prove(payloads: Sequence[bytes], candidates: Candidates, names: Mapping[int, str]) -> Proof:
    """The same for one connection.

    The same payload may have been sent more than once, long before the connection was there too. So the
    search goes out from a message that the ledger holds once, forward to the next record of the same payload
    and backward to the last one. Two streams may hold the same payload (a ticker by two triggers), or two
    payloads of one length and one CRC-32, which happens in every tenth run of 30,000 messages. It is of the
    stream in which it passes the fewest over; of those, of the one with most of the connection's messages.
    """
    messages, places = candidates.messages, candidates.places
    keys = [key_of(payload) for payload in payloads]
    popularity = Counter(stream for key in keys for stream in places.get(key, ()))
    anchor = next(
        (at for at, key in enumerate(keys) if sum(map(len, places.get(key, {}).values())) == 1), None
    )
    if anchor is None:
        return Proof(found=0, strangers=[], lost={})
    [[start]] = places[keys[anchor]].values()
    taken: defaultdict[int, set[int]] = defaultdict(set)
    strangers = []
    for order, step in ((range(anchor, len(keys)), 1), (range(anchor - 1, -1, -1), -1)):
        at: dict[int, int] = {}
        for position in order:
            reached = []
            for stream, of_stream in places.get(keys[position], {}).items():
                here = at.get(stream, start - step)
                if (place := _beyond(of_stream, here, step)) is not None:
                    passed = candidates.passed_over(stream, here, place)
                    reached.append((passed, -popularity[stream], stream, place))
            if reached:
                _, _, stream, place = min(reached)
                at[stream] = place
                taken[stream].add(place)
            else:
                strangers.append(payloads[position].decode(errors="replace"))
    lost = {}
    for stream, indices in taken.items():
        between = range(min(indices), max(indices) + 1)
        missing = sum(messages[index].stream == stream and index not in indices for index in between)
        if missing:
            lost[names.get(stream, f"stream {stream}")] = missing
    return Proof(found=sum(map(len, taken.values())), strangers=strangers, lost=lost)


def _beyond(places: Sequence[int], here: int, step: int) -> int | None:
    """The nearest of the places in the direction of `step`."""
    if step > 0:
        index = bisect_right(places, here)
        return places[index] if index < len(places) else None
    index = bisect_left(places, here) - 1
    return places[index] if index >= 0 else None
