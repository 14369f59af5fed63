"""permessage-deflate as the suite judges it: what an answer may say to an offer, which windows are kept."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as some
from websockets.exceptions import ProtocolError
from websockets.frames import Frame, Opcode

from feedbench.verify.deflate import Agreement, Compressor, DisagreementError, Inflater, agree

PLAIN = "permessage-deflate"

AGREED = [
    ("the plain offer", PLAIN, PLAIN, (True, True, 15, 15)),
    (
        "a server that says its messages stand alone",
        PLAIN,
        f"{PLAIN}; server_no_context_takeover",
        (False, True, 15, 15),
    ),
    ("a client that said so itself", f"{PLAIN}; client_no_context_takeover", PLAIN, (True, False, 15, 15)),
    (
        "a window left to the server",
        f"{PLAIN}; client_max_window_bits",
        f"{PLAIN}; client_max_window_bits=10",
        (True, True, 15, 10),
    ),
    ("a client's own window", f"{PLAIN}; client_max_window_bits=11", PLAIN, (True, True, 15, 11)),
    (
        "a narrower window than asked",
        f"{PLAIN}; server_max_window_bits=12",
        f"{PLAIN}; server_max_window_bits=9",
        (True, True, 9, 15),
    ),
    ("the second of two offers", f"{PLAIN}; server_max_window_bits=9, {PLAIN}", PLAIN, (True, True, 15, 15)),
]


@pytest.mark.parametrize(
    ("offer", "answer", "found"), [row[1:] for row in AGREED], ids=[row[0] for row in AGREED]
)
def test_what_was_agreed(offer: str, answer: str, found: tuple[bool, bool, int, int]) -> None:
    agreement = agree(offer, answer)
    assert agreement == Agreement(agreement.answer if agreement else {}, *found)


REFUSED = [
    ("nothing was offered", "", PLAIN, "not offered"),
    ("another extension", PLAIN, "x-other", "of which nothing was offered"),
    ("two answers", PLAIN, f"{PLAIN}, {PLAIN}", "of which nothing was offered"),
    ("takeover kept against the offer", f"{PLAIN}; server_no_context_takeover", PLAIN, "is not granted"),
    (
        "a wider window",
        f"{PLAIN}; server_max_window_bits=9",
        f"{PLAIN}; server_max_window_bits=10",
        "is not granted",
    ),
    ("a client window that was not offered", PLAIN, f"{PLAIN}; client_max_window_bits=9", "was not offered"),
    (
        "a client window without a number",
        f"{PLAIN}; client_max_window_bits",
        f"{PLAIN}; client_max_window_bits",
        "no parameter",
    ),
    (
        "an answer to a wrong offer",
        f"{PLAIN}; server_max_window_bits=16",
        PLAIN,
        "server_max_window_bits=16 is no parameter",
    ),
    (
        "a parameter twice",
        PLAIN,
        f"{PLAIN}; server_no_context_takeover; server_no_context_takeover",
        "stands twice",
    ),
    ("no list", PLAIN, "permessage-deflate;;", "no list of extensions"),
]


@pytest.mark.parametrize(
    ("offer", "answer", "told"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_an_answer_that_the_offer_does_not_allow(offer: str, answer: str, told: str) -> None:
    with pytest.raises(DisagreementError, match=told):
        agree(offer, answer)


def inflated(inflater: Inflater, content: bytes) -> bytes:
    return bytes(inflater.decode(Frame(Opcode.BINARY, content, rsv1=True)).data)


@given(
    some.lists(some.binary(max_size=2000), max_size=4),
    some.sampled_from([8, 9, 12, 15]),
    some.booleans(),
    some.sampled_from(["plain", "blocks", "stored", "fixed"]),
)
def test_messages_come_back(messages: list[bytes], bits: int, takes_over: bool, how: str) -> None:
    compressor = Compressor(bits=bits, takes_over=takes_over)
    inflater = Inflater(bits=bits, takes_over=takes_over)
    for message in messages:
        assert inflated(inflater, compressor.compress(message, how)) == message


def test_a_final_block_is_no_end_of_the_connection() -> None:
    inflater, compressor = Inflater(bits=15, takes_over=True), Compressor(bits=15, takes_over=True)
    for how in ("final", "plain", "final"):
        assert inflated(inflater, compressor.compress(b"hello hello", how)) == b"hello hello"


def test_looking_back_farther_than_the_window_is_found_out_within_one_message() -> None:
    stream = zlib.compressobj(wbits=-15)
    block = bytes(range(256)) * 2 + bytes(1000)
    content = stream.compress(block + block) + stream.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(ProtocolError, match="window of 512 bytes"):
        inflated(Inflater(bits=9, takes_over=True), content.removesuffix(b"\0\0\xff\xff"))


def test_a_context_that_was_not_to_be_kept_is_found_out() -> None:
    compressor = Compressor(bits=15, takes_over=True)
    inflater = Inflater(bits=15, takes_over=False)
    first, second = (compressor.compress(b"the same text over and over", "plain") for _ in range(2))
    assert inflated(inflater, first)
    with pytest.raises(ProtocolError):
        inflated(inflater, second)
