"""What an engine claims is compared with the ledger, and each way to be wrong is noticed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from exchange_conformance.errors import ConformanceError
from exchange_conformance.ledger import Ledger, Sent
from fix_conformance.bench import MESSAGES, Times, message, report
from fix_conformance.trials import STREAMS, body_key, judge, read_claims
from fix_conformance.wire import decode, encode

ENTRIES = [[{"279": "1", "269": "0", "55": "BTC/USD", "270": f"{price}.5", "271": "1"}] for price in range(9)]
END = {
    "kind": "end",
    "logged_on": True,
    "logged_out": True,
    "snapshots": 1,
    "resend_requests": 1,
    "rejects": 0,
}


def claims(prices: list[int], **end: Any) -> list[dict[str, Any]]:
    return [*({"kind": "X", "entries": ENTRIES[price]} for price in prices), END | end]


def ledger(gap: int = 4) -> Ledger:
    """Nine messages to one connection, of which one was left out at first."""
    messages = [
        Sent(stream=0, connection=3, recipients=1, fault=int(price == gap), key=body_key(entries))
        for price, entries in enumerate(ENTRIES)
    ]
    other = replace(messages[0], connection=5)
    return Ledger([other, *messages], {0: STREAMS[1]}, complete=True)


def test_a_run_of_what_was_sent_with_its_gap_filled_is_right() -> None:
    judge(claims([2, 3, 4, 5, 6]), ledger(), 5)


@pytest.mark.parametrize(
    ("told", "sent", "complaint"),
    [
        (claims([2, 3, 5, 6, 7]), ledger(), "not, message by message"),
        (claims([2, 3, 5, 4, 6]), ledger(), "not, message by message"),
        (claims([2, 3, 4, 4, 5]), ledger(), "not, message by message"),
        (claims([2, 3, 4, 5]), ledger(), "4 messages came, not 5"),
        (claims([2, 3, 4, 5, 6]), ledger(gap=8), "no gap was forced"),
        (claims([2, 3, 4, 5, 6], resend_requests=0), ledger(), "no gap was forced"),
        (claims([2, 3, 4, 5, 6], rejects=1), ledger(), "no reject"),
        (claims([2, 3, 4, 5, 6], snapshots=0), ledger(), "one snapshot"),
        (claims([2, 3, 4, 5, 6], logged_out=False), ledger(), "from logon to logout"),
        ([], ledger(), "from logon to logout"),
    ],
)
def test_each_way_to_be_wrong_is_noticed(told: list[dict[str, Any]], sent: Ledger, complaint: str) -> None:
    with pytest.raises(ConformanceError, match=complaint):
        judge(told, sent, 5)


def test_a_changed_field_is_another_payload() -> None:
    changed = [ENTRIES[0][0] | {"271": "2"}]
    assert body_key(changed) != body_key(ENTRIES[0])


def test_claims_are_the_lines_of_json_among_what_an_engine_says() -> None:
    assert read_claims('log line\n{"kind":"end"}\n') == [{"kind": "end"}]


def test_the_benchmarks_messages_are_sound() -> None:
    for number in (0, 1, 2, MESSAGES - 1):
        fields = message(number)
        assert decode(encode(fields))[2:-1] == fields[1:]


def test_the_benchmark_compares_within_each_round() -> None:
    """The machine becomes slower from round to round, for all alike: medians of each would not show it."""
    ours = [1_000 * number for number in range(1, 12)]
    passes = {
        "feedbench": ours,
        "quickfix": [2 * took for took in ours],
        "simplefix": [25 * took for took in ours],
    }
    assert Times.of(passes, "quickfix") == Times(2.0, 2.0, 2.0)
    # With 95 % the median of eleven lies between the second from below and the second from above.
    uneven = passes | {"quickfix": [took * number for number, took in enumerate(ours, start=1)]}
    assert Times.of(uneven, "quickfix") == Times(6.0, 2.0, 10.0)
    assert Times.of({name: took[:6] for name, took in uneven.items()}, "quickfix") == Times(3.5, 1.0, 6.0)


@pytest.mark.parametrize(("slow", "status"), [(30.0, 0), (19.0, 1)], ids=["fast enough", "too slow"])
def test_the_benchmark_says_and_returns_whether_the_bars_are_held(
    slow: float, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = {"feedbench": [1_000] * 11, "quickfix": [1_500] * 11, "simplefix": [round(1_000 * slow)] * 11}
    assert report(passes, as_json=False) == status
    said = capsys.readouterr().out
    assert "pass  1.5 (1.5 to 1.5) times quickfix, paired by round; must be at least 1\n" in said
    word = "FAIL" if status else "pass"
    assert f"{word}  {slow:.1f} ({slow:.1f} to {slow:.1f}) times simplefix" in said
    assert report(passes, as_json=True) == status
    told = json.loads(capsys.readouterr().out)
    assert told["times"]["simplefix"] == {"median": slow, "low": slow, "high": slow}
    assert told["messages_per_s"]["feedbench"] == pytest.approx(MESSAGES / 1e-6)
