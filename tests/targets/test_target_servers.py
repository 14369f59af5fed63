"""Every target's server keeps the contract of spec/README.md, asked by an unrelated client."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from target_serving import PROJECT, REGISTRY, Start, open_client
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.frames import Frame, Opcode

from feedbench import launch
from feedbench.commands import fill
from feedbench.handshake import open_websocket
from feedbench.launch import Server, serve
from feedbench.target import Target

pytestmark = pytest.mark.end_to_end

PIDFD_GETFD = 438  # the same number on every architecture (Linux 5.6)
SERVERS = [target for target in REGISTRY.targets if target.server_command is not None]
NAMES = [target.name for target in SERVERS]
every_target = pytest.mark.parametrize("name", NAMES)


def with_knob(knob: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [target.name for target in SERVERS if knob in target.knobs])


@pytest.fixture(scope="module", params=NAMES)
def server(
    request: pytest.FixtureRequest, built: Callable[[str], Target], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One server for all tests that leave it as they found it."""
    log = tmp_path_factory.mktemp("server") / "log"
    with serve(built(request.param), project=PROJECT, log=log) as running:
        yield running


def fails_where_expected(server: Server, *cases: str) -> None:
    """Expects this test to fail where the target is known to fail one of these conformance cases."""
    verdicts = json.loads((server.target.folder / "expected.json").read_text())
    known = [case for case in cases if verdicts[case] == "fail"]
    if known:
        pytest.xfail(f"{server.target.name} fails {', '.join(known)}, says its expected.json")


# Each length class of a frame's header, its edges, and 1 MiB, the smallest default limit of the libraries.
@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 1 << 20])
@pytest.mark.parametrize("kind", ["text", "binary"])
def test_an_echo_has_the_content_and_the_opcode_of_the_message(server: Server, size: int, kind: str) -> None:
    if size == 1 << 20:
        fails_where_expected(server, f"echo.{kind}.1MiB")
    if size == 65536:
        fails_where_expected(server, f"echo.{kind}.65537")
    binary = os.urandom(size)
    message = binary if kind == "binary" else binary.hex()[:size]
    with open_client(server) as client:
        client.send(message)
        assert client.recv(timeout=10) == message


def test_text_is_utf8(server: Server) -> None:
    with open_client(server) as client:
        client.send("Grüße, 世界 🎉")
        assert client.recv(timeout=10) == "Grüße, 世界 🎉"


def test_a_fragmented_message_comes_back_whole(server: Server) -> None:
    fails_where_expected(server, "fragment.text.two", "fragment.many-empty", "fragment.128KiB-in-two")
    with open_client(server) as client:
        client.send(iter(["first ", "", "second ", "third"]))
        assert client.recv(timeout=10) == "first second third"
        client.send(iter([b"\xff" * 70_000, b"\x00"]))
        assert client.recv(timeout=10) == b"\xff" * 70_000 + b"\x00"


def test_a_ping_is_answered_with_its_payload(server: Server) -> None:
    with open_client(server) as client:
        assert client.ping(b"payload").wait(5)
        assert client.ping(b"").wait(5)


def test_a_close_is_answered(server: Server) -> None:
    fails_where_expected(server, "close.normal")
    with open_client(server) as client:
        client.close(code=1000)
        received = client.protocol.close_rcvd
        assert received is not None, "the connection broke without a Close frame"
        assert received.code in (1000, 1005)


def test_answers_keep_the_order_and_the_connection(server: Server) -> None:
    with open_client(server) as one, open_client(server) as other:
        for number in range(100):
            one.send(f"one {number}")
            other.send(f"other {number}")
        assert [one.recv(timeout=10) for _ in range(100)] == [f"one {number}" for number in range(100)]
        assert [other.recv(timeout=10) for _ in range(100)] == [f"other {number}" for number in range(100)]


def frames(count: int, payload: bytes) -> bytes:
    return Frame(Opcode.BINARY, payload).serialize(mask=True) * count


def receive_exactly(connection: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        part = connection.recv(min(length - len(received), 1 << 16))
        assert part, f"the connection ended after {len(received)} of {length} bytes"
        received += part
    return bytes(received)


def test_frames_cut_anywhere_and_many_at_once_are_understood(server: Server) -> None:
    stream = frames(20, b"a" * 200)
    expected = Frame(Opcode.BINARY, b"a" * 200).serialize(mask=False) * 20
    with server.connect(timeout_s=10) as connection:
        open_websocket(connection, path="/echo", host=server.authority)
        for piece in (1, 2, 3, 205, 207, 1000):
            for at in range(0, len(stream), piece):
                connection.sendall(stream[at : at + piece])
            assert receive_exactly(connection, len(expected)) == expected


def test_a_slow_reader_gets_everything(server: Server) -> None:
    """The answers (16 MiB) outgrow both sockets' buffers: the server meets partial writes, a full socket."""
    stream = frames(256, b"b" * 65536)
    with server.connect(timeout_s=30) as connection:
        open_websocket(connection, path="/echo", host=server.authority)
        sender = threading.Thread(target=connection.sendall, args=(stream,), daemon=True)
        sender.start()
        time.sleep(0.2)
        for _ in range(256):
            assert receive_message(connection) == b"b" * 65536
        sender.join(10)


def receive_message(connection: socket.socket) -> bytes:
    """The next binary message; a server may send it in fragments."""
    message = b""
    while True:
        first, length = receive_exactly(connection, 2)
        if length > 125:
            length = int.from_bytes(receive_exactly(connection, {126: 2, 127: 8}[length]), "big")
        assert first & 0x0F == (Opcode.CONT if message else Opcode.BINARY)
        message += receive_exactly(connection, length)
        if first & 0x80:
            return message


def test_stamp_greets_and_answers(server: Server) -> None:
    fails_where_expected(server, "fragment.text.two")
    with open_client(server, "/stamp") as client:
        greeting = json.loads(client.recv(timeout=5))
        client.send('{"c": 7}')
        answer = json.loads(client.recv(timeout=5))
        client.send(iter(['{"c"', ":123456789012}"]))
        fragmented = json.loads(client.recv(timeout=5))
    assert [message["c"] for message in (greeting, answer, fragmented)] == [0, 7, 123456789012]
    for message in (greeting, answer, fragmented):
        assert set(message) == {"c", "ts"}
        assert isinstance(message["ts"], int)
        assert abs(message["ts"] - time.time()) < 5


@pytest.mark.parametrize("nonsense", ["no JSON", '{"d":1}', "[]", ""])
def test_nonsense_ends_only_its_own_stamp_connection(server: Server, nonsense: str) -> None:
    with open_client(server, "/stamp") as bystander:
        bystander.recv(timeout=5)
        with open_client(server, "/stamp") as client:
            client.recv(timeout=5)
            client.send(nonsense)
            with pytest.raises(ConnectionClosed):
                client.recv(timeout=5)
        bystander.send('{"c":1}')
        assert json.loads(bystander.recv(timeout=5))["c"] == 1


def test_another_path_is_refused(server: Server) -> None:
    fails_where_expected(server, "handshake.unknown-path")
    with pytest.raises(InvalidHandshake):
        open_client(server, "/nothing").close()


def test_a_client_that_vanishes_disturbs_nobody(server: Server) -> None:
    for part in (b"GET /ec", None):
        connection = server.connect(timeout_s=5)
        if part is None:
            open_websocket(connection, path="/echo", host=server.authority)
            part = frames(1, b"c" * 100)[:50]
        connection.sendall(part)
        # A zero linger time makes close() send a reset instead of an orderly end.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()
    with open_client(server) as client:
        client.send("still there")
        assert client.recv(timeout=5) == "still there"


@every_target
def test_sigterm_ends_it_with_status_0_while_clients_are_connected(name: str, start: Start) -> None:
    server = start(name)
    with open_client(server) as client, server.connect(timeout_s=5) as silent:
        open_websocket(silent, path="/echo", host=server.authority)  # it will not answer a Close
        client.send("x")
        assert client.recv(timeout=5) == "x"
        ending = server.stop()
    assert ending.clean, f"status {ending.status}, killed: {ending.killed}"
    assert server.process.returncode != -signal.SIGTERM


@every_target
def test_a_taken_port_is_told_by_a_clear_last_line(name: str, built: Callable[[str], Target]) -> None:
    target = built(name)
    assert target.server_command is not None
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        command = fill(target.server_command, target=target, project=PROJECT, host="127.0.0.1", port=port)
        tried = subprocess.run(command, cwd=target.folder, capture_output=True, text=True, timeout=10)
    assert tried.returncode not in (0, 127)
    assert tried.returncode > 0
    lines = tried.stderr.splitlines()
    assert len(lines) <= 4, f"a library may say its own first, but no trace: {tried.stderr}"
    assert "in use" in tried.stderr.lower()
    assert port in lines[-1]
    assert tried.stdout == ""


@every_target
def test_ipv6(name: str, start: Start) -> None:
    try:
        launch.free_port("::1")
    except OSError:
        pytest.skip("this machine has no ::1")
    try:
        server = start(name, host="::1")
    except launch.UnsupportedError as lack:  # said with status 127, as spec/README.md wants
        pytest.skip(str(lack))
    with open_client(server) as client:
        client.send("six")
        assert client.recv(timeout=5) == "six"


@every_target
def test_tcp_nodelay_is_on(name: str, start: Start) -> None:
    """Asked of the server's own socket: whether a wait for Nagle shows depends on the load."""
    server = start(name)
    with open_client(server) as client:
        client.send("x")
        client.recv(timeout=5)
        with borrowed_socket(server.pid, client.local_address[:2]) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def borrowed_socket(pid: int, peer: tuple[str, int]) -> socket.socket:
    """A duplicate of the socket connected to `peer` of the server's process or one of its workers."""
    for worker in (pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))):
        if (found := socket_of_process(worker, peer)) is not None:
            return found
    raise AssertionError(f"process {pid} and its children have no socket connected to {peer}")


def socket_of_process(pid: int, peer: tuple[str, int]) -> socket.socket | None:
    """A duplicate of the process's socket that is connected to `peer`, by the system call pidfd_getfd."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not os.readlink(entry).startswith("socket:"):
                continue
            copy = libc.syscall(PIDFD_GETFD, process, int(entry.name), 0)
            if copy < 0:
                pytest.skip(f"this machine doesn't lend sockets: {os.strerror(ctypes.get_errno())}")
            candidate = socket.socket(fileno=copy)
            if connected_to(candidate, peer):
                return candidate
            candidate.close()
    finally:
        os.close(process)
    return None


def connected_to(candidate: socket.socket, peer: tuple[str, int]) -> bool:
    if candidate.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    try:
        address, port = candidate.getpeername()[:2]
    except OSError:
        return False  # a listener
    return (address.removeprefix("::ffff:"), port) == peer


@with_knob("delay_ns")
def test_delay_comes_before_every_answer(name: str, start: Start) -> None:
    """No answer can be earlier than the delay, whatever the machine; without the delay some answer is."""
    delay_ns = 20_000_000

    def fastest_round_trip_ns(server: Server) -> int:
        times = []
        with open_client(server) as client:
            for _ in range(10):
                before_ns = time.monotonic_ns()
                client.send("x")
                client.recv(timeout=5)
                times.append(time.monotonic_ns() - before_ns)
        return min(times)

    assert fastest_round_trip_ns(start(name, {"delay_ns": str(delay_ns)})) >= delay_ns
    assert fastest_round_trip_ns(start(name)) < delay_ns


@with_knob("log_messages")
@pytest.mark.parametrize("value", ["true", None])
def test_messages_are_logged_only_when_asked_for(name: str, value: str | None, start: Start) -> None:
    server = start(name, {} if value is None else {"log_messages": value})
    with open_client(server) as client:
        client.send("a message to be seen")
        client.recv(timeout=5)
        client.send(b"a binary message")
        client.recv(timeout=5)
    server.stop()
    assert ("a message to be seen" in server.log.read_text()) == (value == "true")


@pytest.mark.parametrize(
    ("name", "value"),
    [(target.name, value) for target in SERVERS for value in (None, *target.knobs.get("deflate", ()))],
)
def test_deflate_is_what_the_manifest_says(name: str, value: str | None, start: Start) -> None:
    target = REGISTRY.get(name)
    server = start(name, {} if value is None else {"deflate": value})
    with open_client(server, compression="deflate") as client:
        agreed = bool(client.protocol.extensions)
        client.send("x" * 1000)
        assert client.recv(timeout=5) == "x" * 1000
    assert agreed == ((value or target.options["deflate"]) == "on")
    if "deflate" in target.knobs:
        assert target.knobs["deflate"][0] == target.options["deflate"]
