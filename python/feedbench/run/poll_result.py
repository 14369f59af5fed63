"""What pollers were told of and when: their samples, load.json and verdict.

A cell's samples are events, each in the first answer that tells of it: its birth by the ledger, when the
question was sent, when the answer was handed over. So what the analysis calls latency is the event's age at
receipt, latency from send the question's round trip, and what lies between the two the polling delay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from feedbench.doors.polling import Answer, PollingLaw, answers, polling_law
from feedbench.errors import RunDirectoryError
from feedbench.feed.client import FeedClient
from feedbench.feed.ledger import Ledger
from feedbench.feed.settings import Feed
from feedbench.feed.stamps import Ending, Kind, Stamps, read_stamps
from feedbench.paths import SCHEMA, write_json
from feedbench.plan import Cell
from feedbench.run.context import Context
from feedbench.run.feed_result import base_document
from feedbench.run.measured import Measured
from feedbench.run.own_client import summarise
from feedbench.run.status import Outcome
from feedbench.samples import RECORD, Records, write_samples

# Pairs of neighbouring answers tell of events; with fewer of them nothing can be said.
FEWEST_ANSWERS = 20
OK = 200

Poll = tuple[Answer, int]


@dataclass(frozen=True)
class PolledFeed:
    """`polls` are the measured answers, each with the number of the newest event that it tells of."""

    polls: Sequence[Poll]
    records: Records
    law: PollingLaw


def has_answers(client: FeedClient) -> bool:
    """Whether a poller that still asks has enough to show; a record that can't be read has nothing more."""
    if client.sink != "stamps":
        return True
    try:
        kinds = read_stamps(client.output).heads["kind"]
    except RunDirectoryError:
        return True
    return int(np.count_nonzero(kinds == Kind.ANSWER)) >= FEWEST_ANSWERS


def record_pollers(
    context: Context,
    cells: Sequence[Cell],
    clients: Mapping[str, FeedClient],
    ledger: Ledger,
    feed: Feed,
    measured: Measured,
) -> None:
    """Writes samples.fbs and load.json for each poller that has no outcome yet, and its outcome."""
    for cell in cells:
        if cell.id in measured.outcomes:
            continue
        measured.outcomes[cell.id] = _record(context, cell, clients[cell.id], ledger, feed)


def _record(context: Context, cell: Cell, client: FeedClient, ledger: Ledger, feed: Feed) -> Outcome:
    plan, folder = context.plan, client.output.parent
    try:
        stamps = read_stamps(client.output)
        if stamps.ending is not Ending.ENDED:
            return Outcome("failed", f"its record has no end: {stamps.ending.value}")
        found = polled(stamps, ledger, feed, warmup_ns=plan.protocol.warmup_ns)
    except (RunDirectoryError, ValueError) as error:
        return Outcome("failed", str(error))
    write_samples(folder / "samples.fbs", found.records, name=cell.id, drop_first=0.0)
    load = plan.condition(cell.condition).load
    document = {**base_document(cell.id, load), **_document(found, feed)}
    write_json(folder / "load.json", {"schema": SCHEMA, **document})
    return Outcome("ok")


def polled(stamps: Stamps, ledger: Ledger, feed: Feed, *, warmup_ns: int) -> PolledFeed:
    """ValueError when an answer is not what the scenario says, or too few events were told of."""
    connected_ns = int(stamps.heads["received_ns"][0])
    begin_ns = max(int(ledger.header["opened_ns"]), connected_ns) + warmup_ns
    polls = [
        (answer, _newest(answer, feed.newest or ""))
        for answer in answers(stamps)
        if answer.sent_ns >= begin_ns and answer.status == OK
    ]
    births = {
        int(sequence): int(born_ns)
        for sequence, born_ns in zip(ledger.messages["sequence"], ledger.messages["born_ns"], strict=True)
    }
    return PolledFeed(polls, _records(polls, births), polling_law(polls, births))


def _newest(answer: Answer, key: str) -> int:
    try:
        return int(json.loads(answer.body)[key])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f'an answer has no number "{key}": {answer.body[:80]!r}') from error


def _records(polls: Sequence[Poll], births: Mapping[int, int]) -> Records:
    """Of each event that an answer tells of and the one before it did not."""
    told = [
        (born_ns, poll.sent_ns, poll.received_ns, 0, 0)
        for (_, known), (poll, newest) in pairwise(polls)
        for born_ns in _born(known, newest, births)
    ]
    return np.array(told, dtype=RECORD)


def _born(known: int, newest: int, births: Mapping[int, int]) -> Iterator[int]:
    """Events of the same moment count once."""
    yield from sorted({births[number] for number in range(known + 1, newest + 1) if number in births})


def _document(found: PolledFeed, feed: Feed) -> dict[str, Any]:
    events, law = len(found.records), found.law
    first, last = found.polls[0][0], found.polls[-1][0]
    measured_ns = last.received_ns - first.sent_ns
    signed = {
        name: found.records[name].astype(np.int64) for name in ("intended_ns", "sent_ns", "received_ns")
    }
    bodies = [len(poll.body) for poll, _ in found.polls]
    return {
        "door": "rest",
        "measured_ns": measured_ns,
        "slices": 1,
        "sent": events,
        "received": events,
        "sent_total": events,
        "received_total": events,
        "round_trips_per_s": events / (measured_ns / 1e9),
        "bytes_per_s": sum(bodies) / (measured_ns / 1e9),
        "latency_ns": summarise(signed["received_ns"] - signed["intended_ns"]),
        "latency_from_send_ns": summarise(signed["received_ns"] - signed["sent_ns"]),
        # What the exchange's lateness would stand for is not known of an answer.
        "lateness_ns": None,
        "message_bytes": float(np.mean(bodies)),
        # With headers, which depend on the library; nobody counts them here.
        "wire_bytes": None,
        "polling": {
            "polls": len(found.polls),
            "interval_ns": feed.poll_interval_ns,
            "events": law.events,
            "age_ns": [law.found_ns.low, law.found_ns.high],
            "expected_ns": [law.expected_ns.low, law.expected_ns.high],
            "uniform_p": law.uniform_p,
            "round_trip_ns": summarise(np.array([poll.round_trip_ns for poll, _ in found.polls])),
            "polling_delay_ns": summarise(signed["sent_ns"] - signed["intended_ns"]),
        },
    }
