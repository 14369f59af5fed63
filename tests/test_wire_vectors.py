"""The vectors in spec/vectors, held against implementations that share no line with ours.

The Rust tests read the same files; what both agree on is the protocol and not a habit of ours.
"""

from __future__ import annotations

import base64
import codecs
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from websockets.exceptions import InvalidHandshake, NegotiationError, ProtocolError
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    PerMessageDeflate,
)
from websockets.frames import Frame, Opcode
from websockets.headers import parse_extension
from websockets.streams import StreamReader
from websockets.utils import accept_key

VECTORS = Path(__file__).parent.parent / "spec" / "vectors"


def cases(file: str, part: str) -> list[Any]:
    """One list of a vector file."""
    content = json.loads((VECTORS / f"{file}.json").read_text(encoding="utf-8"))
    assert content["schema"] == 1
    return [*content[part]]


def by_id(case: dict[str, Any]) -> str:
    return str(case["id"])


def parse(wire: bytes, *, mask: bool, extensions: list[PerMessageDeflate] | None = None) -> Frame:
    """One frame as the websockets package reads it."""
    reader = StreamReader()
    reader.feed_data(wire)
    reader.feed_eof()
    parsing = Frame.parse(reader.read_exact, mask=mask, extensions=extensions)
    try:
        next(parsing)
    except StopIteration as done:
        frame = done.value
        assert isinstance(frame, Frame)
        return frame
    raise AssertionError("the frame wants more bytes")


@pytest.mark.parametrize("case", cases("websocket-frames", "frames"), ids=by_id)
def test_frames(case: dict[str, Any]) -> None:
    if case["rsv1"]:
        with pytest.raises(ProtocolError, match="reserved bits"):
            parse(bytes.fromhex(case["hex"]), mask=False)
        return
    frame = parse(bytes.fromhex(case["hex"]), mask=case["mask"] is not None)
    assert (frame.fin, frame.rsv1, int(frame.opcode)) == (case["fin"], case["rsv1"], case["opcode"])
    assert bytes(frame.data).hex() == case["payload_hex"]


@pytest.mark.parametrize("case", cases("websocket-frames", "headers"), ids=by_id)
def test_lengths(case: dict[str, Any]) -> None:
    head = bytes.fromhex(case["hex"])
    payload = bytes(case["payload_bytes"])
    assert Frame(Opcode.BINARY, payload).serialize(mask=False) == head + payload


@pytest.mark.parametrize("case", cases("websocket-frames", "invalid"), ids=by_id)
def test_frames_that_nobody_may_send(case: dict[str, Any]) -> None:
    # Long enough that the frame is refused for what it says, not for what it lacks.
    with pytest.raises(ProtocolError):
        parse(bytes.fromhex(case["hex"]) + bytes(126), mask=False)


@pytest.mark.parametrize("case", cases("websocket-handshake", "accept"), ids=lambda case: str(case["key"]))
def test_accept_keys(case: dict[str, str]) -> None:
    assert accept_key(case["key"]) == case["accept"]


def test_responses_answer_the_key_of_the_vectors() -> None:
    content = json.loads((VECTORS / "websocket-handshake.json").read_text(encoding="utf-8"))
    key = base64.b64encode(bytes.fromhex(content["key_hex"])).decode()
    accepted = [case for case in content["responses"] if case["ok"]]
    assert accepted
    assert all(accept_key(key) in case["response"] for case in accepted)


@pytest.mark.parametrize("case", cases("permessage-deflate", "messages"), ids=by_id)
def test_compressed_messages(case: dict[str, Any]) -> None:
    if case["id"] == "bfinal":
        pytest.skip("websockets keeps no stream alive behind a final block, which RFC 7692 (7.2.3.4) allows")
    extension = PerMessageDeflate(
        remote_no_context_takeover=False,
        local_no_context_takeover=False,
        remote_max_window_bits=15,
        local_max_window_bits=15,
    )
    for wire, payload in zip(case["wire_hex"], case["payload_hex"], strict=True):
        compressed = bytes.fromhex(wire)
        frame = bytes([0xC2, len(compressed)]) + compressed
        assert bytes(parse(frame, mask=False, extensions=[extension]).data).hex() == payload


def offered_client_window(offer: dict[str, str | None]) -> int | Literal[True] | None:
    """Absent, offered without a value, or with one: as the websockets package wants it."""
    if "client_max_window_bits" not in offer:
        return None
    bits = offer["client_max_window_bits"]
    return True if bits is None else int(bits)


@pytest.mark.parametrize("case", cases("permessage-deflate", "negotiations"), ids=lambda case: case["answer"])
def test_negotiations(case: dict[str, Any]) -> None:
    [(_, offered)] = parse_extension(case["offer"])
    offer = dict(offered)
    server_bits = offer.get("server_max_window_bits")
    factory = ClientPerMessageDeflateFactory(
        server_no_context_takeover="server_no_context_takeover" in offer,
        client_no_context_takeover="client_no_context_takeover" in offer,
        server_max_window_bits=None if server_bits is None else int(server_bits),
        client_max_window_bits=offered_client_window(offer),
    )
    try:
        [(_, answered)] = parse_extension(case["answer"])
        agreed = factory.process_response_params(answered, [])
    except (NegotiationError, InvalidHandshake):
        assert not case["ok"]
        return
    assert case["ok"]
    assert (agreed.remote_max_window_bits, agreed.local_max_window_bits) == (
        case["server_bits"],
        case["client_bits"],
    )
    assert (agreed.remote_no_context_takeover, agreed.local_no_context_takeover) == (
        case["server_forgets"],
        case["client_forgets"],
    )


@pytest.mark.parametrize("text", cases("utf8", "valid"))
def test_valid_text(text: str) -> None:
    bytes.fromhex(text).decode("utf-8")


@pytest.mark.parametrize("case", cases("utf8", "invalid"), ids=lambda case: case["why"])
def test_invalid_text(case: dict[str, Any]) -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        codecs.decode(bytes.fromhex(case["hex"]), "utf-8")
    assert caught.value.start == case["position"]


def stamp_of(text: str) -> tuple[int, float] | None:
    """What the text means as an answer of the stamp model, by Python's JSON; None if it means none."""
    try:
        pairs = json.loads(text, object_pairs_hook=list, parse_constant=lambda name: None)
    except json.JSONDecodeError:
        return None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        return None
    if sorted(key for key, _ in pairs) != ["c", "ts"]:
        return None
    fields = dict(pairs)
    count, time = fields["c"], fields["ts"]
    if not isinstance(count, int | float) or not isinstance(time, int | float) or count != int(count):
        return None
    return (int(count), time if time < 1e11 else time / 1000) if count >= 0 else None


@pytest.mark.parametrize("case", cases("stamp", "valid"), ids=by_id)
def test_stamps(case: dict[str, Any]) -> None:
    found = stamp_of(case["text"])
    assert found is not None
    assert found[0] == case["c"]
    assert found[1] == pytest.approx(case["unix_s"], abs=1e-6)


@pytest.mark.parametrize("case", cases("stamp", "invalid"), ids=by_id)
def test_what_is_no_stamp(case: dict[str, Any]) -> None:
    assert stamp_of(case["text"]) is None, case["why"]
