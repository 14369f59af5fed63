"""The fake does each wrong thing when asked for it, and none otherwise."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from target_serving import FAKE, PROJECT, Start, load_module, open_client
from websockets.exceptions import ConnectionClosed

from feedbench.commands import environment, fill
from feedbench.errors import TargetError
from feedbench.launch import Server, UnsupportedError, free_port
from feedbench.target import Target

faults = load_module("_fake/echo/faults.py")


def answers_to(count: int, **asked: int | bool) -> list[bytes]:
    """What a connection gets for messages "1", "2", … `count`; a lie is the negative number."""
    held: list[bytes] = []
    sent: list[bytes] = []
    for number in range(1, count + 1):
        sent += faults.answers(faults.Faults(**asked), number, b"%d" % number, b"-%d" % number, held)
    return sent


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({}, b"1 2 3 4 5 6", id="without a fault every message has one answer"),
        pytest.param({"drop_every": 3}, b"1 2 4 5", id="every third is dropped"),
        pytest.param({"duplicate_every": 3}, b"1 2 3 3 4 5 6 6", id="every third comes twice"),
        pytest.param(
            {"reorder_every": 2}, b"1 3 2 5 4", id="every second comes after the next, the last never"
        ),
        pytest.param({"lie_every": 5}, b"1 2 3 4 -5 6", id="the fifth is false"),
        pytest.param({"mute": True}, b"", id="nothing is answered"),
        pytest.param({"drop_every": 2, "lie_every": 3}, b"1 -3 5", id="a dropped answer stays dropped"),
    ],
)
def test_answers(asked: dict[str, int | bool], expected: bytes) -> None:
    assert b" ".join(answers_to(6, **asked)) == expected


@given(st.binary())
def test_a_lie_differs_in_content_but_not_in_length(payload: bytes) -> None:
    lied = faults.lie(payload)
    assert lied != payload
    assert len(lied) == max(1, len(payload))


@given(st.text())
def test_a_lie_about_text_is_text(text: str) -> None:
    faults.lie(text.encode()).decode()


@given(st.integers(0, 70_000), st.binary(min_size=4, max_size=4))
def test_frames_are_read_back(length: int, mask: bytes) -> None:
    wire = load_module("_fake/echo/wire.py")
    payload = bytes(i & 0xFF for i in range(length))
    frame = bytearray(wire.frame_bytes(wire.BINARY, payload))
    frame[1] |= 0x80
    head = len(frame) - length
    masked = bytes(frame[:head]) + mask + wire.unmask(payload, mask)
    assert wire.parse(masked[:-1]) is None
    assert wire.parse(masked + b"more") == (wire.Frame(True, wire.BINARY, payload), len(masked))


@pytest.mark.end_to_end
def test_a_lie_is_told(start: Start) -> None:
    with open_client(start(FAKE, {"lie_every": "2"})) as client:
        client.send("right")
        assert client.recv(timeout=5) == "right"
        client.send("right")
        assert client.recv(timeout=5) == "righu"


@pytest.mark.end_to_end
def test_it_dies_instead_of_answering(start: Start) -> None:
    server = start(FAKE, {"die_after": "3"})
    with open_client(server) as client:
        for _ in range(2):
            client.send("x")
            assert client.recv(timeout=5) == "x"
        client.send("x")
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=5)
    assert server.process.wait(5) == 3


@pytest.mark.end_to_end
def test_it_never_answers(start: Start) -> None:
    with open_client(start(FAKE, {"mute": "true"})) as client:
        client.send("x")
        with pytest.raises(TimeoutError):
            client.recv(timeout=0.2)


@pytest.mark.end_to_end
@pytest.mark.parametrize("how", ["refuse", "wrong", "hang"])
def test_it_spoils_the_handshake(how: str, start: Start) -> None:
    with pytest.raises(TargetError, match="no handshake"):
        start(FAKE, {"handshake": how}, deadline_s=0.7)


@pytest.mark.end_to_end
def test_it_never_listens(start: Start) -> None:
    with pytest.raises(TargetError, match="no handshake"):
        start(FAKE, {"start": "hang"}, deadline_s=0.7)


@pytest.mark.end_to_end
def test_it_says_that_it_is_unsupported(start: Start) -> None:
    with pytest.raises(UnsupportedError, match="a fault knob asks for it"):
        start(FAKE, {"start": "unsupported"})


@pytest.mark.end_to_end
def test_it_claims_a_taken_port(built: Callable[[str], Target]) -> None:
    target = built(FAKE)
    assert target.server_command is not None
    command = fill(
        target.server_command, target=target, project=PROJECT, host="127.0.0.1", port=str(free_port())
    )
    tried = subprocess.run(
        command,
        cwd=target.folder,
        env=environment({"start": "port-taken"}),
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    assert tried.returncode == 1
    assert "already in use" in tried.stderr


@pytest.mark.end_to_end
def test_it_ignores_sigterm(start: Start) -> None:
    assert start(FAKE, {"ignore_sigterm": "true"}).stop().killed


@pytest.mark.end_to_end
def test_its_noise_is_not_text(start: Start) -> None:
    server: Server = start(FAKE, {"noise": "true"})
    with open_client(server) as client:
        client.send("x")
        assert client.recv(timeout=5) == "x"
    with pytest.raises(UnicodeDecodeError):
        server.log.read_bytes().decode()
