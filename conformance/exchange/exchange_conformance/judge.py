"""The verdict on a trial: does the witness have what the ledger says, and the client what the witness has?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from exchange_conformance.alignment import align
from exchange_conformance.book import Book
from exchange_conformance.claims import Claim, Claims
from exchange_conformance.dialects.told import Told
from exchange_conformance.ledger import Ledger, prove
from exchange_conformance.reading import Reading
from exchange_conformance.values import Json, canonical, frozen, leaves, number, parse, sent


@dataclass(frozen=True)
class Witnessed:
    """What one raw connection received, in order."""

    readings: Sequence[Reading]


@dataclass(frozen=True)
class ChannelVerdict:
    """What came of one channel of one symbol."""

    channel: str
    symbol: str
    messages: int
    fields: int
    complaint: str | None


@dataclass(frozen=True)
class TrialVerdict:
    """What came of one client at one exchange."""

    client: str
    version: str
    exchange: str
    messages: int
    fields: int
    proven: int
    """Messages of the witness that are in the ledger."""
    channels: tuple[ChannelVerdict, ...]
    complaint: str | None
    """Why the trial failed; None if it passed."""

    def to_json(self) -> dict[str, Json]:
        """For `--json`."""
        return {**asdict(self), "verdict": "pass" if self.complaint is None else "fail"}


def judge(
    *,
    client: str,
    exchange: str,
    claims: Claims,
    witnesses: Sequence[Witnessed],
    ledger: Ledger,
    messages: int,
    book_depth: int | None = None,
    greeted: Sequence[str] = (),
    driver_complaint: str | None = None,
) -> TrialVerdict:
    """Joins claims, witnesses and ledger. It takes at least `messages` right claims to pass."""
    readings = [reading for witness in witnesses for reading in witness.readings]
    channels = tuple(_channels(claims.claims, readings, book_depth, greeted))
    proofs = [prove(list(_payloads(witness.readings)), ledger) for witness in witnesses]
    count = sum(channel.messages for channel in channels)
    complaints = [
        driver_complaint,
        *(proof.complaint and f"the witness: {proof.complaint}" for proof in proofs),
        *(
            channel.complaint and f"{channel.channel} {channel.symbol}: {channel.complaint}"
            for channel in channels
        ),
        None if ledger.complete else "the ledger has no end: the exchange did not stop by itself",
        None if claims.complete else "the client did not receive all that was asked for in time",
        None if count >= messages else f"{count} messages were received, {messages} are wanted",
    ]
    return TrialVerdict(
        client=client,
        version=claims.version,
        exchange=exchange,
        messages=count,
        fields=sum(channel.fields for channel in channels),
        proven=sum(proof.found for proof in proofs),
        channels=channels,
        complaint=next((complaint for complaint in complaints if complaint), None),
    )


def _payloads(readings: Iterable[Reading]) -> Iterator[bytes]:
    """Each message once, but for those that were made for the witness alone."""
    last = None
    for reading in readings:
        if reading.text is not last and not reading.told.snapshot:
            yield reading.text.encode()
        last = reading.text


def _channels(
    claims: Iterable[Claim], readings: Sequence[Reading], book_depth: int | None, greeted: Sequence[str]
) -> Iterator[ChannelVerdict]:
    groups: defaultdict[tuple[str, str, bool], list[Claim]] = defaultdict(list)
    for claim in claims:
        groups[claim.channel, claim.symbol, claim.state is not None].append(claim)
    for (channel, symbol, is_state), group in sorted(groups.items()):
        told = [
            reading
            for reading in readings
            if (reading.told.channel, reading.told.symbol) == (channel, symbol)
        ]
        if is_state:
            matched, fields, complaint = _judge_states(group, told, book_depth)
        else:
            matched, fields, complaint = _judge_messages(group, told, channel in greeted)
        yield ChannelVerdict(f"{channel} (kept)" if is_state else channel, symbol, matched, fields, complaint)


def _judge_messages(
    claims: Sequence[Claim], readings: Sequence[Reading], is_greeted: bool
) -> tuple[int, int, str | None]:
    shared = [reading for reading in readings if not reading.told.snapshot]
    first = claims[0]
    if first.text is not None:
        claimed: list[Hashable] = [claim.text for claim in claims]
        told: list[Hashable] = [reading.text for reading in shared]
        counts = [leaves(parse(claim.text or "null")) for claim in claims]
    elif first.fields is not None:
        names = sorted(first.fields)
        different = next((claim for claim in claims if sorted(claim.fields or {}) != names), None)
        if different is not None:
            return 0, 0, f"claims differ in their fields: {names} and {sorted(different.fields or {})}"
        claimed = [_projection(names, claim.fields or {}) for claim in claims]
        told = [tuple((name, sent(name, reading.told.fields)) for name in names) for reading in shared]
        counts = [leaves(dict(claim.fields or {})) for claim in claims]
    else:
        claimed = [frozen(claim.message) for claim in claims]
        told = [frozen(reading.told.message) for reading in shared]
        counts = [leaves(claim.message) for claim in claims]
    known = set(told) if is_greeted else set()
    # What was made for the client alone was not sent to the witness; it can only come first.
    alone = next((index for index, value in enumerate(claimed) if value in known), 0)
    alignment = align(claimed[alone:], told, sampled=first.sampled)
    return alignment.matched, sum(counts[alone : alone + alignment.matched]), alignment.complaint


def _projection(names: Sequence[str], fields: Json) -> Hashable:
    return tuple((name, canonical(name, fields[name])) for name in names)


def _judge_states(
    claims: Sequence[Claim], readings: Sequence[Reading], book_depth: int | None
) -> tuple[int, int, str | None]:
    """Books that a client keeps, against the book that results from the witness's messages."""
    levels = max(len(side) for claim in claims for side in (claim.state or {}).values())
    names = sorted(claims[0].fields or {})
    claimed = [(_projection(names, claim.fields or {}), _top(claim.state or {})) for claim in claims]
    # Where a book tells of which message it is, only the books after those messages are of interest.
    wanted = {key for key, _ in claimed}
    told: list[Hashable] = []
    for item, book in _books((reading.told for reading in readings), book_depth):
        key = tuple((name, sent(name, item.fields)) for name in names)
        if key in wanted:
            told.append((key, book.top(levels)))
    alignment = align(claimed, told, sampled=claims[0].sampled)
    return alignment.matched, alignment.matched * (4 * levels + len(names)), alignment.complaint


def _top(state: Json) -> Hashable:
    return tuple(
        tuple((number(price), number(quantity)) for price, quantity in state[side])
        for side in ("bids", "asks")
    )


def _books(items: Iterable[Told], depth: int | None) -> Iterator[tuple[Told, Book]]:
    """The book after each message that changes it: one object, which the next message changes."""
    book = Book(depth=depth)
    for item in items:
        bids, asks = (
            [(number(price), number(quantity)) for price, quantity, *_ in item.fields[side]]
            for side in ("bids", "asks")
        )
        # Messages of channel `book` hold the whole book; those of `depth` change it.
        if item.snapshot or item.channel == "book":
            book.reset(bids, asks)
        else:
            book.apply(bids, asks)
        yield item, book
