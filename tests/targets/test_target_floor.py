"""The C floor's planted stalls, and the frames that it must refuse."""

from __future__ import annotations

import re
import socket
import struct
import time
from itertools import pairwise
from pathlib import Path

import pytest
from target_serving import Start, open_client
from websockets.frames import Frame, Opcode

from feedbench.errors import TargetError
from feedbench.handshake import exchange, open_websocket, request
from feedbench.launch import Server

pytestmark = pytest.mark.end_to_end

FLOOR = "c/floor"
KEY = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


def test_stalls_come_as_planned_and_are_logged(start: Start, tmp_path: Path) -> None:
    """Sleeps 60 ms every 150 ms: a sleep is never shorter, and what is sent into one waits until its end."""
    log = tmp_path / "stalls"
    knobs = {"stall_ns": "60000000", "stall_every_ns": "150000000", "stall_log": str(log)}
    round_trips = []
    with open_client(start(FLOOR, knobs)) as client:
        give_up = time.monotonic() + 20
        while len(stalls := logged_stalls(log)) < 4:
            assert time.monotonic() < give_up, f"only {len(stalls)} stalls came"
            sent_ns = time.monotonic_ns()
            client.send("x")
            client.recv(timeout=5)
            round_trips.append((sent_ns, time.monotonic_ns()))
    assert all(end_ns - begin_ns >= 60_000_000 for begin_ns, end_ns in stalls)
    assert all(next_ns > end_ns for (_, end_ns), (next_ns, _) in pairwise(stalls))
    crossing = 0
    for begin_ns, end_ns in stalls:
        for sent_ns, received_ns in round_trips:
            assert not begin_ns <= sent_ns <= received_ns < end_ns, "it answered in its sleep"
            crossing += sent_ns < end_ns <= received_ns
    assert crossing > 0, "no message met a stall"


def logged_stalls(log: Path) -> list[tuple[int, int]]:
    """Begin and end of each, CLOCK_MONOTONIC ns; a line that is still being written doesn't count."""
    lines = log.read_text().split("\n")[:-1]
    return [(int(begin_ns), int(end_ns)) for begin_ns, end_ns in map(str.split, lines)]


def test_without_the_knobs_there_is_no_stall(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "stalls"
    start(FLOOR, {"stall_ns": "60000000", "stall_log": str(log)})
    assert not log.exists()


@pytest.mark.parametrize(
    ("knobs", "complaint"),
    [
        ({"delay_ns": "5us"}, "FEEDBENCH_DELAY_NS=5us is not a whole number"),
        ({"delay_ns": "-1"}, "not a whole number"),
        (
            {"stall_ns": "1", "stall_every_ns": "1", "stall_log": "/nowhere/log"},
            "cannot write the stall log /nowhere/log: No such file",
        ),
    ],
)
def test_a_bad_knob_is_one_clear_line(knobs: dict[str, str], complaint: str, start: Start) -> None:
    with pytest.raises(TargetError, match=re.escape(complaint)):
        start(FLOOR, knobs)


def masked(first_byte: int, payload: bytes, *, length: bytes | None = None) -> bytes:
    """A frame whose mask is zero, with any first byte and any length field."""
    return bytes([first_byte]) + (length or bytes([0x80 | len(payload)])) + bytes(4) + payload


@pytest.fixture(name="server")
def floor(start: Start) -> Server:
    return start(FLOOR)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(b"\x82\x01x", 1002, id="a client's frame without a mask"),
        pytest.param(masked(0xC2, b"x"), 1002, id="a reserved bit, though no extension was agreed"),
        pytest.param(masked(0x83, b"x"), 1002, id="an opcode that isn't defined"),
        pytest.param(masked(0x8B, b""), 1002, id="a control opcode that isn't defined"),
        pytest.param(masked(0x80, b"x"), 1002, id="a continuation of nothing"),
        pytest.param(
            masked(0x01, b"x") + masked(0x81, b"y"), 1002, id="a new message inside a fragmented one"
        ),
        pytest.param(masked(0x09, b"x"), 1002, id="a fragmented ping"),
        pytest.param(masked(0x89, b"x" * 126, length=b"\xfe\x00\x7e"), 1002, id="a ping that is too long"),
        pytest.param(
            masked(0x82, b"x", length=b"\xfe\x00\x01"), 1002, id="a length in more bytes than it needs"
        ),
        pytest.param(
            masked(0x82, b"", length=b"\xff" + struct.pack("!Q", 1 << 63)), 1009, id="a length of 8 EiB"
        ),
        pytest.param(masked(0x88, b"\x03"), 1002, id="half a close code"),
        pytest.param(masked(0x88, b"\x03\xed"), 1002, id="close code 1005, which must not be sent"),
        pytest.param(masked(0x88, b"\x03\xe8bye"), 1000, id="an orderly close"),
        pytest.param(masked(0x88, b"\x0f\xa0"), 4000, id="a private close code"),
    ],
)
def test_what_the_protocol_forbids_ends_the_connection_with_a_code(
    server: Server, sent: bytes, code: int
) -> None:
    with server.connect(timeout_s=5) as connection:
        open_websocket(connection, path="/echo", host=server.authority)
        connection.sendall(sent)
        received = receive_until_end(connection)
    assert received[-4:] == b"\x88\x02" + struct.pack("!H", code)


def test_a_ping_between_two_fragments_is_answered_at_once(server: Server) -> None:
    with server.connect(timeout_s=5) as connection:
        open_websocket(connection, path="/echo", host=server.authority)
        connection.sendall(masked(0x01, b"one") + masked(0x89, b"ping"))
        assert connection.recv(100) == b"\x01\x03one\x8a\x04ping"
        connection.sendall(masked(0x80, b"two"))
        assert connection.recv(100) == b"\x80\x03two"


def test_frames_that_arrive_together_are_answered_in_one_write(server: Server) -> None:
    stream = Frame(Opcode.BINARY, b"x" * 100).serialize(mask=True) * 50
    with server.connect(timeout_s=5) as connection:
        open_websocket(connection, path="/echo", host=server.authority)
        connection.sendall(stream)
        # All 50 lie in the first segment on loopback, whose MTU is 64 KiB.
        assert len(connection.recv(1 << 20)) == 50 * 102


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param("/echo", KEY, 101, id="a right request"),
        pytest.param("/echo", KEY | {"Connection": "keep-alive, upgrade"}, 101, id="Connection is a list"),
        pytest.param("/echo", KEY | {"upgrade": "WebSocket", "Upgrade": None}, 101, id="names ignore case"),
        pytest.param("/echo", {}, 400, id="no key"),
        pytest.param("/echo", {"Sec-WebSocket-Key": "short"}, 400, id="a key that isn't 16 bytes"),
        pytest.param("/echo", KEY | {"Upgrade": None}, 400, id="no Upgrade"),
        pytest.param("/echo", KEY | {"Connection": "close"}, 400, id="no Connection: Upgrade"),
        pytest.param("/echo", KEY | {"Sec-WebSocket-Version": "8"}, 426, id="an old version"),
        pytest.param("/", KEY, 404, id="another path"),
        pytest.param("/echo", KEY | {"Cookie": "x" * 8192}, 431, id="a request without end"),
    ],
)
def test_the_handshake(server: Server, path: str, headers: dict[str, str | None], status: int) -> None:
    with server.connect(timeout_s=5) as connection:
        answer = exchange(connection, request(path=path, host=server.authority, headers=headers))
    assert answer.status == status
    if status == 101:  # the example of RFC 6455, section 1.3
        assert answer.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def receive_until_end(connection: socket.socket) -> bytes:
    received = b""
    while part := connection.recv(65536):
        received += part
    return received
