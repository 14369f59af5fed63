"""The comparison of a client's messages with those that were sent finds each kind of difference."""

import pytest

from exchange_conformance.alignment import align

SENT = ["a", "b", "c", "b", "d", "e"]


@pytest.mark.parametrize(
    ("claimed", "complaint"),
    [
        (["b", "c", "b", "d"], None),
        (["b", "d", "e"], None),
        (["a", "b", "b", "d"], "message 3 was handed over twice: b"),
        (["c", "b", "e"], "1 messages are missing before message 3: e"),
        (["a", "b", "c", "b", "a"], "message 5 came out of order: a"),
        (["a", "b", "x"], "message 3 differs: the client has x, sent was c"),
        (["d", "e", "f"], "message 3 differs: the client has f, sent was None"),
        (["x"], "its first message was not sent so: x"),
        ([], "the client handed nothing over"),
    ],
)
def test_each_claim_is_the_message_after_the_one_before(claimed: list[str], complaint: str | None) -> None:
    assert align(claimed, SENT, sampled=False).complaint == complaint


@pytest.mark.parametrize(
    ("claimed", "complaint"),
    [
        (["a", "c", "e"], None),
        (["a", "a", "d"], None),
        (["a", "x"], "message 2 was not sent: x"),
        (["c", "d", "c"], "message 3 was sent only before the one that it handed over last: c"),
    ],
)
def test_a_client_that_hands_over_the_latest_value_may_pass_some_over_but_not_go_back(
    claimed: list[str], complaint: str | None
) -> None:
    assert align(claimed, SENT, sampled=True).complaint == complaint


def test_what_was_passed_over_is_counted() -> None:
    assert align(["a", "c", "e"], SENT, sampled=True).missing == 3
