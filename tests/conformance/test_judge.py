"""A verdict is `pass` only if ledger, witness and client agree; every kind of disagreement is named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trial_files import TRIAL, ledger_bytes, text, trade, verdict_on

from exchange_conformance.catalogue import WitnessPlan

TRADES = [trade(number) for number in range(10)]
SENT = [text(message) for message in TRADES]
GREETING = '{"result":null,"id":1}'


def whole(message: dict[str, Any]) -> dict[str, Any]:
    return {"channel": "trade", "symbol": "BTCUSDT", "message": message}


def own(message: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The same as a client's own object would show it."""
    fields = {
        "trade_id": message["t"],
        "price": float(message["p"]),
        "quantity": 0.5,
        "side": "sell" if message["m"] else "buy",
        "time_ms": message["T"],
        "event_time_s": message["E"] / 1_000,
    }
    return {"channel": "trade", "symbol": "BTC/USDT", "fields": {**fields, **changed}}


@pytest.mark.parametrize("claim", [whole, own, lambda message: {**whole(message), "message": message}])
def test_a_client_that_has_what_was_sent_passes(
    tmp_path: Path, claim: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    verdict = verdict_on(
        tmp_path,
        claims=[claim(message) for message in TRADES[2:7]],
        witnessed=[GREETING, *SENT],
        ledger=ledger_bytes(SENT),
        messages=5,
    )
    assert (verdict.complaint, verdict.messages, verdict.proven, verdict.version) == (None, 5, 10, "1.2")
    assert verdict.fields == 5 * len(TRADES[0] if "message" in claim(TRADES[0]) else own(TRADES[0])["fields"])


def test_a_message_that_was_handed_over_as_text_is_compared_as_text(tmp_path: Path) -> None:
    claims = [{"channel": "trade", "symbol": "BTCUSDT", "text": line} for line in SENT[:3]]
    claims[2]["text"] = claims[2]["text"].replace("0.50", "0.500")
    verdict = verdict_on(tmp_path, claims=claims, witnessed=SENT, ledger=ledger_bytes(SENT))
    assert verdict.complaint is not None
    assert "message 3 differs" in verdict.complaint


ALTERED = {
    "a field of its own": ([own(TRADES[0]), own(TRADES[1], price=101.0)], "message 2 differs"),
    "the taker's side": ([own(TRADES[0]), own(TRADES[1], side="sell")], "message 2 differs"),
    "a time by a millisecond": ([own(TRADES[0]), own(TRADES[1], time_ms=1_000)], "message 2 differs"),
    "a field of a whole message": ([whole(TRADES[0]), whole({**TRADES[1], "M": False})], "message 2 differs"),
    "a message is lost": ([whole(TRADES[0]), whole(TRADES[2])], "1 messages are missing before message 2"),
    "a message comes twice": ([whole(TRADES[0])] * 2, "message 2 was handed over twice"),
    "two change places": (
        [whole(TRADES[number]) for number in (0, 2, 1)],
        "1 messages are missing before message 2",
    ),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_client_that_has_something_else_fails(tmp_path: Path, what: str) -> None:
    claims, complaint = ALTERED[what]
    verdict = verdict_on(tmp_path, claims=claims, witnessed=SENT, ledger=ledger_bytes(SENT))
    assert verdict.complaint is not None
    assert verdict.complaint.startswith(f"trade BTC: {complaint}")


def test_a_witness_is_believed_only_as_far_as_the_ledger_goes(tmp_path: Path) -> None:
    forged = [*SENT[:5], text(trade(5, price="99.00000000")), *SENT[6:]]
    verdict = verdict_on(tmp_path, claims=[whole(TRADES[0])], witnessed=forged, ledger=ledger_bytes(SENT))
    assert verdict.complaint is not None
    assert verdict.complaint.startswith("the witness: 1 of its messages are not in the ledger")


def test_what_the_ledger_has_and_the_witness_has_not_is_lost(tmp_path: Path) -> None:
    verdict = verdict_on(
        tmp_path, claims=[whole(TRADES[0])], witnessed=[*SENT[:4], *SENT[5:]], ledger=ledger_bytes(SENT)
    )
    assert verdict.complaint == (
        "the witness: 1 messages of 'binance btcusdt@trade' are in the ledger and did not arrive"
    )


REASONS: dict[str, tuple[dict[str, Any], str]] = {
    "too few": ({"messages": 3}, "2 messages were received, 3 are wanted"),
    "not in time": ({"complete": False}, "the client did not receive all that was asked for in time"),
    "a crash": (
        {"complaint": "the driver ended with status 1: boom"},
        "the driver ended with status 1: boom",
    ),
    "a ledger without end": (
        {"ledger": ledger_bytes(SENT, end=False)},
        "the ledger has no end: the exchange did not stop by itself",
    ),
}


@pytest.mark.parametrize("why", REASONS)
def test_other_reasons_to_fail(tmp_path: Path, why: str) -> None:
    changed, complaint = REASONS[why]
    arguments: dict[str, Any] = {"ledger": ledger_bytes(SENT), **changed}
    verdict = verdict_on(tmp_path, claims=[whole(TRADES[0]), whole(TRADES[1])], witnessed=SENT, **arguments)
    assert verdict.complaint == complaint


def test_claims_that_are_none_are_a_complaint(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, claims=[{"price": 1}], witnessed=SENT, ledger=ledger_bytes(SENT))
    assert verdict.complaint is not None
    assert "claims.jsonl:2: not a claim" in verdict.complaint


def depth(number: int, *, bids: list[list[str]], asks: list[list[str]]) -> dict[str, Any]:
    return {"e": "depthUpdate", "E": number, "s": "BTCUSDT", "U": number, "u": number, "b": bids, "a": asks}


DEPTHS = [
    depth(1, bids=[["10.0", "1.0"], ["9.0", "2.0"]], asks=[["11.0", "1.0"], ["12.0", "1.0"]]),
    depth(2, bids=[["10.0", "0.0"]], asks=[]),
    depth(3, bids=[], asks=[["10.5", "3.0"]]),
    depth(4, bids=[["9.5", "1.0"]], asks=[["11.0", "0.0"]]),
]
BOOKS = {
    2: ([["9", "2"]], [["11", "1"]]),
    4: ([["9.5", "1"]], [["10.5", "3"]]),
}


def book(number: int, bids: list[list[str]], asks: list[list[str]]) -> dict[str, Any]:
    state = {"bids": bids, "asks": asks}
    head = {"channel": "depth", "symbol": "BTCUSDT", "sampled": True}
    return {**head, "state": state, "fields": {"last_id": number}}


@pytest.mark.parametrize(
    ("claims", "complaint"),
    [
        ([book(2, *BOOKS[2]), book(4, *BOOKS[4])], None),
        ([book(2, *BOOKS[2]), book(4, [["9.5", "1"]], [["10.5", "2"]])], "message 2 was not sent"),
        ([book(4, *BOOKS[4]), book(2, *BOOKS[2])], "message 2 was sent only before"),
        ([book(3, *BOOKS[2])], "its first message was not sent so"),
    ],
)
def test_a_book_that_a_client_keeps_is_the_one_after_the_same_update(
    tmp_path: Path, claims: list[dict[str, Any]], complaint: str | None
) -> None:
    witnessed = [text(message) for message in DEPTHS]
    verdict = verdict_on(tmp_path, claims=claims, witnessed=witnessed, ledger=ledger_bytes(witnessed))
    if complaint is None:
        assert verdict.complaint is None
    else:
        assert complaint in str(verdict.complaint)


def test_a_snapshot_made_for_the_witness_is_not_looked_for_in_the_ledger(tmp_path: Path) -> None:
    snapshot = '{"type":"snapshot","product_id":"BTC-USD","bids":[["9","1"]],"asks":[["10","1"]]}'
    update = (
        '{"type":"l2update","product_id":"BTC-USD","changes":[["buy","9.5","2"]],'
        '"time":"2026-11-21T13:00:00.000001Z"}'
    )
    trial = replace(TRIAL, dialect="coinbase", witness=(WitnessPlan(path="/"),))
    claims = [
        {"channel": "depth", "symbol": "BTC-USD", "state": {"bids": [["9.5", "2"]], "asks": [["10", "1"]]}}
    ]
    verdict = verdict_on(
        tmp_path, claims=claims, witnessed=[snapshot, update], ledger=ledger_bytes([update]), trial=trial
    )
    assert (verdict.complaint, verdict.proven) == (None, 1)


@pytest.mark.parametrize(
    ("greeted", "complaint"), [((), "its first message was not sent so"), (("trade",), None)]
)
def test_only_in_a_greeted_channel_may_the_first_messages_be_the_clients_alone(
    tmp_path: Path, greeted: tuple[str, ...], complaint: str | None
) -> None:
    verdict = verdict_on(
        tmp_path,
        claims=[whole(trade(900)), whole(TRADES[3]), whole(TRADES[4])],
        witnessed=[text(trade(800)), *SENT],
        ledger=ledger_bytes(SENT if greeted else [text(trade(800)), *SENT]),
        trial=replace(TRIAL, greeted=greeted),
    )
    if complaint is None:
        assert (verdict.complaint, verdict.messages) == (None, 2)
    else:
        assert complaint in str(verdict.complaint)


def test_in_a_greeted_channel_too_later_messages_must_have_been_sent(tmp_path: Path) -> None:
    verdict = verdict_on(
        tmp_path,
        claims=[whole(trade(900)), whole(TRADES[3]), whole(trade(901))],
        witnessed=[text(trade(800)), *SENT],
        ledger=ledger_bytes(SENT),
        trial=replace(TRIAL, greeted=("trade",)),
    )
    assert "message 2 differs" in str(verdict.complaint)
