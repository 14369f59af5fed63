"""From a directory of trials and the ledger to verdicts: can be repeated on what was collected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from exchange_conformance.catalogue import Trial, WitnessPlan
from exchange_conformance.claims import Claims, read_claims
from exchange_conformance.collect import CLAIMS, OUTCOME, witness_record
from exchange_conformance.dialects.told import Told
from exchange_conformance.errors import ConformanceError
from exchange_conformance.judge import TrialVerdict, Witnessed, judge
from exchange_conformance.ledger import Ledger
from exchange_conformance.reading import Reading, read
from exchange_conformance.symbols import base_of
from exchange_conformance.values import parse


def trial_verdict(
    trial: Trial, directory: Path, ledger: Ledger, *, messages: int, complaint: str | None = None
) -> TrialVerdict:
    """Judges one trial by its files; what can't be read is a complaint like any other.

    `complaint` is what went wrong with the run as a whole.
    """
    folder = directory / trial.directory_name
    if complaint is None:
        complaint = json.loads((folder / OUTCOME).read_text())["complaint"]
    try:
        claims = read_claims(folder / CLAIMS) if (folder / CLAIMS).exists() else Claims("unknown", (), False)
        witnesses = [
            Witnessed(read_witness(witness_record(folder, index), trial, plan))
            for index, plan in enumerate(trial.witness)
            if witness_record(folder, index).exists()
        ]
    except (ConformanceError, ValueError, KeyError) as error:
        claims, witnesses, complaint = Claims("unknown", (), False), [], f"{type(error).__name__}: {error}"
    return judge(
        client=trial.client,
        exchange=trial.exchange,
        claims=claims,
        witnesses=witnesses,
        ledger=ledger,
        messages=messages,
        book_depth=trial.book_depth,
        greeted=trial.greeted,
        driver_complaint=complaint,
    )


def read_witness(path: Path, trial: Trial, plan: WitnessPlan) -> list[Reading]:
    """What a witness received, with each REST book in front of the first message that it does not hold."""
    readings: list[Reading] = []
    snapshots: list[Reading] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "snapshot" in entry:
            snapshots.append(_snapshot(entry["snapshot"], entry["text"]))
        else:
            readings += read(trial.dialect, entry["text"], symbol=plan.symbol)
    readings = list(_greetings_marked(readings, trial.greeted))
    return list(_with_snapshots(readings, snapshots)) if snapshots else readings


def _greetings_marked(readings: Sequence[Reading], greeted: Sequence[str]) -> Iterator[Reading]:
    """Marks the first message of each greeted channel as made for the connection; all that it tells."""
    greeting = {
        channel: next((reading.text for reading in readings if reading.told.channel == channel), None)
        for channel in greeted
    }
    for reading in readings:
        if greeting.get(reading.told.channel) is reading.text:
            yield replace(reading, told=replace(reading.told, snapshot=True))
        else:
            yield reading


def _snapshot(path: str, text: str) -> Reading:
    """Binance's: the only exchange here whose book comes by REST."""
    body = parse(text)
    symbol = base_of(path.partition("symbol=")[2].partition("&")[0])
    fields = {"last_id": body["lastUpdateId"], "bids": body["bids"], "asks": body["asks"]}
    return Reading(Told("depth", symbol, fields, body, snapshot=True), text)


def _with_snapshots(readings: Sequence[Reading], snapshots: Sequence[Reading]) -> Iterator[Reading]:
    waiting = {snapshot.told.symbol: snapshot for snapshot in snapshots}
    for reading in readings:
        told = reading.told
        snapshot = waiting.get(told.symbol) if told.channel == "depth" else None
        if snapshot and told.fields["last_id"] > snapshot.told.fields["last_id"]:
            yield waiting.pop(told.symbol)
        yield reading
