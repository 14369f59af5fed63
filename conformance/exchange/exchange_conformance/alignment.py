"""Compares what a client claims with what was sent, message by message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Alignment:
    """How far a sequence of claims follows what was sent."""

    matched: int
    missing: int
    """What was sent between two claims that a client, which hands over the latest value only, passed over."""
    complaint: str | None


def align(claimed: Sequence[Hashable], sent: Sequence[Hashable], *, sampled: bool) -> Alignment:
    """Each claim must be the message after the one before; with `sampled`, one of those after it.

    A value may occur more than once in what was sent, so the place where a client's first message stands is
    not always plain: of all places, the one that explains most is taken.
    """
    if not claimed:
        return Alignment(0, 0, "the client handed nothing over")
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, value in enumerate(sent):
        places[value].append(index)
    if claimed[0] not in places:
        return Alignment(0, 0, f"its first message was not sent so: {show(claimed[0])}")
    if sampled:
        return _subsequence(claimed, sent, places)
    best, at = max((_run(claimed, sent, place), place) for place in places[claimed[0]])
    if best == len(claimed):
        return Alignment(best, 0, None)
    return Alignment(best, 0, _difference(claimed, sent, best, at + best))


def _run(claimed: Sequence[Hashable], sent: Sequence[Hashable], place: int) -> int:
    length = 0
    while length < len(claimed) and place + length < len(sent) and claimed[length] == sent[place + length]:
        length += 1
    return length


def _subsequence(
    claimed: Sequence[Hashable], sent: Sequence[Hashable], places: defaultdict[Hashable, list[int]]
) -> Alignment:
    at, first = -1, places[claimed[0]][0]
    for index, value in enumerate(claimed):
        # The same value may be handed over twice: nothing is wrong with the latest one.
        later = next((place for place in places.get(value, ()) if place >= at), None)
        if later is None:
            reason = (
                "was sent only before the one that it handed over last" if value in places else "was not sent"
            )
            return Alignment(index, 0, f"message {index + 1} {reason}: {show(value)}")
        at = later
    return Alignment(len(claimed), at - first + 1 - len(claimed), None)


def _difference(claimed: Sequence[Hashable], sent: Sequence[Hashable], index: int, at: int) -> str:
    """Names the first difference in the reader's words."""
    value, expected = claimed[index], sent[at] if at < len(sent) else None
    place = f"message {index + 1}"
    if value == claimed[index - 1]:
        return f"{place} was handed over twice: {show(value)}"
    ahead = next((later for later in range(at + 1, len(sent)) if sent[later] == value), None)
    if ahead is not None:
        return f"{ahead - at} messages are missing before {place}: {show(value)}"
    if value in sent[:at]:
        return f"{place} came out of order: {show(value)}"
    return f"{place} differs: the client has {show(value)}, sent was {show(expected)}"


def show(value: Hashable) -> str:
    """A value in one short line."""
    text = _plain(value)
    return text if len(text) <= 200 else f"{text[:197]}…"


def _plain(value: Hashable) -> str:
    match value:
        case frozenset():
            return "{" + ", ".join(sorted(f"{key}: {_plain(item)}" for key, item in value)) + "}"
        case ("literal", item):
            return repr(item)
        case tuple():
            return "(" + ", ".join(_plain(item) for item in value) + ")"
        case _:
            return str(value)
