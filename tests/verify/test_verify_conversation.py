"""The examiner examined: a server that is right passes, and each planted fault is told in words."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some
from scripted import case, scripted
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from feedbench.launch import Server
from feedbench.verify.case import Case, Step
from feedbench.verify.conversation import converse
from feedbench.verify.departure import DepartureError, RefusalError
from feedbench.verify.frames import encode, opcode_of
from feedbench.verify.payload import payload
from feedbench.verify.server_peer import ServerPeer

HELLO: Step = {"send": "text", "text": "hello"}
ECHO: Step = {"receive": "echo"}


def says(*frames: bytes) -> Callable[[socket.socket], None]:
    """Waits for something, then sends these frames, whatever was asked."""

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"".join(frames))

    return behave


def frame(kind: str, content: bytes, *, fin: bool = True, reserved: int = 0, masked: bool = False) -> bytes:
    return encode(opcode_of(kind), content, fin=fin, reserved=reserved, masked=masked)


def speak(case: Case, server: Server, *, timeout_s: float) -> None:
    with ServerPeer(case, server, timeout_s=timeout_s) as peer:
        converse(case, peer)


def closing(code: int) -> bytes:
    return frame("close", code.to_bytes(2, "big"))


GOOD: list[tuple[str, list[Step], list[bytes]]] = [
    ("an echo", [HELLO, ECHO], [frame("text", b"hello")]),
    ("an echo in fragments", [HELLO, ECHO], [frame("text", b"hel", fin=False), frame("continuation", b"lo")]),
    (
        "a pong that comes after the message",
        [HELLO, {"send": "ping", "text": "p"}, {"receive": "pong", "text": "p"}, ECHO],
        [frame("text", b"hello"), frame("pong", b"p")],
    ),
    ("the server's own ping", [HELLO, ECHO], [frame("ping", b"?"), frame("text", b"hello")]),
    ("a close with the code", [HELLO, {"failed": [1002]}], [closing(1002)]),
    ("the bare end instead of a close", [HELLO, {"failed": [1002]}], []),
    (
        "a close without a code",
        [HELLO, {"receive": "close", "code": [1005]}, {"ended": True}],
        [frame("close", b"")],
    ),
]


@pytest.mark.parametrize(("steps", "frames"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])
def test_what_is_right_passes(steps: list[Step], frames: list[bytes]) -> None:
    with scripted(says(*frames)) as server:
        speak(case(*steps), server, timeout_s=5)


def test_a_stamp_of_now_passes() -> None:
    def stamp(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(frame("text", json.dumps({"c": 1, "ts": time.time()}).encode()))

    with scripted(stamp) as server:
        speak(case(HELLO, {"receive_json": {"c": 1}, "stamp": "ts"}), server, timeout_s=60)


BAD: list[tuple[str, list[Step], list[bytes], str]] = [
    ("another text", [HELLO, ECHO], [frame("text", b"hallo")], "'hallo' instead of text of 5 bytes: 'hello'"),
    (
        "binary for text",
        [HELLO, ECHO],
        [frame("binary", b"hello")],
        "binary of 5 bytes: 68 65 6c 6c 6f instead of text",
    ),
    ("nothing but the end", [HELLO, ECHO], [], "the end of the connection instead of text"),
    ("a close", [HELLO, ECHO], [closing(1011)], "close 1011 instead of text"),
    (
        "one answer too few",
        [{**HELLO, "repeat": 2}, ECHO, ECHO],
        [frame("text", b"hello")],
        "end of the connection",
    ),
    (
        "answers out of order",
        [{"send": "text", "numbered": True, "repeat": 2}, {"receive": "text", "numbered": True, "repeat": 2}],
        [frame("text", b"1"), frame("text", b"0")],
        "'1' instead of text of 1 bytes: '0'",
    ),
    ("a masked frame", [HELLO, ECHO], [frame("text", b"hello", masked=True)], "incorrect masking"),
    ("a reserved bit", [HELLO, ECHO], [frame("text", b"hello", reserved=4)], "reserved bits must be 0"),
    ("a fragment of nothing", [HELLO, ECHO], [frame("continuation", b"hello")], "a continuation of nothing"),
    (
        "a message within another",
        [HELLO, ECHO],
        [frame("text", b"hel", fin=False), frame("text", b"hello")],
        "a message in another",
    ),
    (
        "an echo of what is wrong",
        [HELLO, {"failed": [1007]}],
        [frame("text", b"hello")],
        "instead of close 1007 or",
    ),
    ("the wrong code", [HELLO, {"failed": [1007]}], [closing(1000)], "close 1000 instead of close 1007"),
    (
        "another close code",
        [HELLO, {"receive": "close", "code": [1000]}],
        [closing(1001)],
        "close 1001 instead of",
    ),
    (
        "more after the close",
        [HELLO, {"ended": True}],
        [frame("text", b"more")],
        "instead of the connection's end",
    ),
    ("no JSON", [HELLO, {"receive_json": {"c": 1}}], [frame("text", b"{c}")], "is no JSON"),
    (
        "JSON with more in it",
        [HELLO, {"receive_json": {"c": 1}}],
        [frame("text", b'{"c":1,"d":2}')],
        "an object with c",
    ),
    (
        "another counter",
        [HELLO, {"receive_json": {"c": 1}}],
        [frame("text", b'{"c":2}')],
        "c is 2 instead of 1",
    ),
    (
        "a stamp in milliseconds",
        [HELLO, {"receive_json": {"c": 1}, "stamp": "ts"}],
        [frame("text", json.dumps({"c": 1, "ts": time.time() * 1000}).encode())],
        "not the time in unix seconds",
    ),
]


@pytest.mark.parametrize(("steps", "frames", "told"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_each_fault_is_told(steps: list[Step], frames: list[bytes], told: str) -> None:
    with scripted(says(*frames)) as server, pytest.raises(DepartureError) as departed:
        speak(case(*steps), server, timeout_s=5)
    assert told in str(departed.value)


def test_a_server_that_says_nothing_is_given_up() -> None:
    def mute(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    with scripted(mute) as server, pytest.raises(DepartureError, match=r"no answer within 0\.2 s"):
        speak(case(HELLO, ECHO), server, timeout_s=0.2)


def test_a_refusal_that_the_case_allows_is_no_fault() -> None:
    with scripted(says(closing(1009))) as server, pytest.raises(RefusalError, match="close 1009"):
        speak(case(HELLO, ECHO, unsupported=(1009,)), server, timeout_s=5)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", "HTTP status 200 instead of 101"),
        (b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n\r\n", "does not fit the key"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "the answer begins with 'SSH-2.0-OpenSSH'"),
        (b"", "closed before an answer came"),
        (b"HTTP/1.1 101 Switch" + b"x" * 70000, "longer than 65536 bytes"),
    ],
)
def test_a_wrong_handshake_is_told(answer: bytes, told: str) -> None:
    with (
        scripted(lambda connection: None, answer=answer) as server,
        pytest.raises(DepartureError) as departed,
    ):
        speak(case(HELLO, ECHO), server, timeout_s=5)
    assert told in str(departed.value)


def test_a_handshake_that_must_be_refused() -> None:
    with scripted(lambda connection: None, answer=b"HTTP/1.1 426 Upgrade Required\r\n\r\n") as server:
        speak(case(status=(400, 426)), server, timeout_s=5)
    with (
        scripted(lambda connection: None) as server,
        pytest.raises(DepartureError, match="the handshake is accepted"),
    ):
        speak(case(status=(400, 426)), server, timeout_s=5)


@given(
    some.sampled_from([0, 1, 2, 8, 9, 10]),
    some.binary(max_size=125) | some.sampled_from([126, 65535, 65536]).map(bytes),
    some.booleans(),
)
def test_what_we_encode_the_websockets_package_reads(opcode: int, content: bytes, masked: bool) -> None:
    if opcode >= 8:
        content = content[:125]
    reader = StreamReader()
    reader.feed_data(encode(opcode, content, masked=masked))
    parser = Frame.parse(reader.read_exact, mask=masked, max_size=None)
    with pytest.raises(StopIteration) as done:
        next(parser)
    assert done.value.value == Frame(Opcode(opcode), content)


@pytest.mark.parametrize(
    ("step", "content"),
    [
        ({"send": "text", "text": "€"}, b"\xe2\x82\xac"),
        ({"send": "binary", "hex": "00ff"}, b"\x00\xff"),
        ({"send": "close", "code": 1000}, b"\x03\xe8"),
        ({"send": "text", "numbered": True}, b"7"),
        ({"send": "text", "size": 3}, b'!"#'),
        ({"send": "binary", "size": 3}, b"\x00\x01\x02"),
    ],
)
def test_payloads_are_told_in_six_ways(step: Step, content: bytes) -> None:
    assert payload(step, 7) == content
