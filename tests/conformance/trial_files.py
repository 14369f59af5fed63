"""A trial's files as `collect` leaves them, and a ledger, made by hand so that faults can be planted."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exchange_conformance.catalogue import Trial, WitnessPlan
from exchange_conformance.judge import TrialVerdict
from exchange_conformance.ledger import ALL_SUBSCRIBERS, key_of, read_ledger
from exchange_conformance.verdicts import trial_verdict

TRIAL = Trial(
    client="python/planted",
    exchange="binance",
    personality="binance",
    dialect="binance",
    place="ports",
    witness=(WitnessPlan(path="/ws/btcusdt@trade"),),
)


def trade(number: int, *, price: str = "100.00000000") -> dict[str, Any]:
    """A trade as Binance words it."""
    head = {"e": "trade", "E": 1_000 + number, "s": "BTCUSDT", "t": number, "p": price}
    return {**head, "q": "0.50000000", "T": 998 + number, "m": number % 2 == 0, "M": True}


def text(message: Any) -> str:
    """As it goes over the wire."""
    return json.dumps(message, separators=(",", ":"))


def ledger_bytes(
    payloads: Sequence[str], *, stream: str = "binance btcusdt@trade", end: bool = True
) -> bytes:
    """A ledger with these messages of one stream."""
    header = b'{"clock":"CLOCK_MONOTONIC"}'
    header += b" " * (-(16 + len(header)) % 64)
    records = [struct.pack("<BBHI52s", 2, len(stream), 0, 3, stream.encode())]
    for payload in payloads:
        length, crc = key_of(payload.encode())
        records.append(
            struct.pack("<BBHIQQQQIIIII", 1, 0, 0, 3, 0, 0, 0, 0, ALL_SUBSCRIBERS, 1, length, crc, 0)
        )
    if end:
        records.append(struct.pack("<BBHIQ44x", 3, 0, 0, 0, len(records)))
    body = b"".join(record + struct.pack("<I", zlib.crc32(record)) for record in records)
    return b"FBLEDGER" + struct.pack("<II", 1, len(header)) + header + body


def verdict_on(
    folder: Path,
    *,
    claims: Sequence[dict[str, Any]],
    witnessed: Sequence[str],
    ledger: bytes,
    trial: Trial = TRIAL,
    complete: bool = True,
    complaint: str | None = None,
    messages: int = 1,
) -> TrialVerdict:
    """Writes the files and judges them."""
    (folder / "ledger").write_bytes(ledger)
    here = folder / trial.directory_name
    here.mkdir()
    lines = [{"version": "1.2"}, *claims, {"complete": complete}]
    (here / "claims.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (here / "witness-0.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in witnessed))
    (here / "outcome.json").write_text(json.dumps({"schema": 1, "complaint": complaint}))
    return trial_verdict(trial, folder, read_ledger(folder / "ledger"), messages=messages)
