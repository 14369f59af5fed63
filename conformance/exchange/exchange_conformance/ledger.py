"""Reads the exchange's ledger (spec/ledger.md) and finds in it what a connection received."""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from exchange_conformance.errors import ConformanceError

MAGIC, VERSION, RECORD_BYTES = b"FBLEDGER", 1, 64
# kind, fault, zero, stream, born, scheduled, sent, sequence, connection, recipients, bytes, CRC, spread
MESSAGE = struct.Struct("<BBHIQQQQIIIII")
NAME = struct.Struct("<BBHI52s")
ALL_SUBSCRIBERS = 0xFFFFFFFF
Key = tuple[int, int]
# Numbers that an exchange counts for each connection; length and CRC leave their digits out.
PER_CONNECTION = re.compile(rb'("(?:sequence_num|socket_sequence)":)\d+')


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
        for index, record in enumerate(messages):
            self.places[record.key][record.stream].append(index)


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
    data = path.read_bytes()
    if data[:8] != MAGIC or int.from_bytes(data[8:12], "little") != VERSION:
        raise ConformanceError(
            f"{path} is not a ledger of version {VERSION}: was the exchange stopped early?"
        )
    messages: list[Sent] = []
    names: defaultdict[int, bytes] = defaultdict(bytes)
    starts = range(16 + int.from_bytes(data[12:16], "little"), len(data) - RECORD_BYTES + 1, RECORD_BYTES)
    for records, at in enumerate(starts):
        body, checksum = data[at : at + 60], int.from_bytes(data[at + 60 : at + 64], "little")
        if zlib.crc32(body) != checksum:
            break
        match body[0]:
            case 1:
                _, fault, _, stream, *_, connection, recipients, length, crc, _ = MESSAGE.unpack(body)
                messages.append(Sent(stream, connection, recipients, fault, (length, crc)))
            case 2:
                _, length, _, stream, text = NAME.unpack(body)
                names[stream] += text[:length]
            case 3:
                complete = int.from_bytes(body[8:16], "little") == records
                return Ledger(messages, {key: name.decode() for key, name in names.items()}, complete)
    return Ledger(messages, {key: name.decode() for key, name in names.items()}, complete=False)


def key_of(payload: bytes) -> Key:
    """Length and CRC-32 by which the ledger knows a payload."""
    shared = PER_CONNECTION.sub(rb"\1", payload)
    return len(shared), zlib.crc32(shared)


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
    and backward to the last one. A payload may belong to several streams as well (a ticker by two triggers):
    it is looked for first in the stream that holds most of the connection's messages.
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
            of_streams: dict[int, list[int]] = places.get(keys[position], defaultdict(list))
            for stream in sorted(of_streams, key=lambda stream: -popularity[stream]):
                place = _beyond(of_streams[stream], at.get(stream, start - step), step)
                if place is not None:
                    at[stream] = place
                    taken[stream].add(place)
                    break
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
