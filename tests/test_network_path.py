"""A network path as programs at its ends meet it, and as somebody at the keyboard does."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from feedbench.errors import EngineError
from feedbench.host.process import end_process, own_preparation
from feedbench.network_path import PathEnd, PathShape, lay_path, parse_rate, parse_share, verify_path
from feedbench.paths import Project

PROJECT = Project.find(Path(__file__).parent)
MILLISECOND = 1_000_000
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists() or not PROJECT.path_emulator.exists(),
    reason="it takes root, /dev/net/tun and the built emulator to lay a path",
)
ECHO = """
import socket, sys
server = socket.create_server((sys.argv[1], 9000))
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(65536):
        connection.sendall(data)
"""
ASK = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], 9000))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(connection.getsockopt(socket.IPPROTO_TCP, 13, 16).split(b"\\0")[0].decode())
for _ in range(20):
    began = time.monotonic_ns()
    connection.sendall(b"?")
    connection.recv(1)
    print(time.monotonic_ns() - began)
"""


@pytest.mark.parametrize(("text", "wanted"), [("100Mbit", 10**8), ("1.5kbit", 1_500), ("2Gbit", 2 * 10**9)])
def test_a_rate_has_its_unit(text: str, wanted: int) -> None:
    assert parse_rate(text) == wanted


@pytest.mark.parametrize("text", ["100", "0Mbit", "-1kbit", "10Mb", ""])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        parse_rate(text)


@pytest.mark.parametrize(("text", "wanted"), [("0%", 0), ("1%", 0.01), ("0.5%", 0.005)])
def test_a_share_of_packets_is_written_in_percent(text: str, wanted: float) -> None:
    assert parse_share(text) == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["1", "100%", "-1%", "0.01"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no share"):
        parse_share(text)


@contextmanager
def at(end: PathEnd, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", *command],
        stdout=subprocess.PIPE,
        process_group=0,
        preexec_fn=own_preparation(namespace=end.namespace),
    )
    try:
        yield process
    finally:
        end_process(process, first=signal.SIGKILL, grace_s=1)


@needs_root
@pytest.mark.end_to_end
@pytest.mark.parametrize("congestion", ["cubic", "bbr", "reno"])
def test_programs_at_its_ends_meet_the_delay_and_the_congestion_control(
    congestion: str, tmp_path: Path
) -> None:
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if congestion not in available:
        pytest.skip(f"this kernel has no {congestion}")
    shape = PathShape(delay_ns=50 * MILLISECOND, congestion=congestion)
    with (
        lay_path(PROJECT.path_emulator, shape, seed=1, log=tmp_path / "log") as (here, there),
        at(there, ECHO, there.address) as echo,
    ):
        assert echo.stdout is not None
        assert echo.stdout.readline() == b"ready\n"
        with at(here, ASK, there.address) as asking:
            said = asking.communicate(timeout=60)[0].decode().split()
    assert said[0] == congestion
    trips_ns = [int(trip) for trip in said[1:]]
    # Never less than the delay twice; how much more is the machine's.
    assert len(trips_ns) == 20
    assert min(trips_ns) >= 2 * shape.delay_ns
    assert statistics.median(trips_ns) < 4 * shape.delay_ns


@needs_root
@pytest.mark.end_to_end
def test_it_is_gone_with_its_process(tmp_path: Path) -> None:
    with lay_path(PROJECT.path_emulator, PathShape(), seed=1, log=tmp_path / "log") as (here, _):
        assert here.namespace.exists()
    assert not here.namespace.exists()


@needs_root
@pytest.mark.end_to_end
def test_no_packet_leaves_it(tmp_path: Path) -> None:
    """A namespace of a path has no way to anywhere but the other end."""
    program = (
        "import socket\ntry: socket.create_connection(('198.51.100.1', 80), 5)\n"
        "except OSError as error: print(error.errno)"
    )
    with (
        lay_path(PROJECT.path_emulator, PathShape(), seed=1, log=tmp_path / "log") as (here, _),
        at(here, program) as trying,
    ):
        assert trying.communicate(timeout=60)[0].strip() == b"101"  # ENETUNREACH


@needs_root
@pytest.mark.end_to_end
def test_a_congestion_control_that_the_kernel_lacks_is_named(tmp_path: Path) -> None:
    shape = PathShape(congestion="nosuch")
    with (
        pytest.raises(EngineError, match="`nosuch` can't be used here; this kernel has"),
        lay_path(PROJECT.path_emulator, shape, seed=1, log=tmp_path / "log"),
    ):
        pass


@needs_root
@pytest.mark.end_to_end
def test_a_path_is_measured_against_what_was_asked() -> None:
    """How well it keeps to that is the machine's on that day; that losses are counted right is not."""
    verdict = verify_path(PROJECT.path_emulator, PathShape(delay_ns=20 * MILLISECOND, loss=0.05))
    found = verdict["found"]
    assert found["round_trip_ns"]["min"] >= 40 * MILLISECOND
    assert 0.03 < found["lost"] / found["counted"] < 0.07


@needs_root
@pytest.mark.end_to_end
def test_the_command_lays_a_path_until_it_is_ended() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "from feedbench.cli import main; main()", "path", "--delay", "1ms", "--json"],
        stdout=subprocess.PIPE,
        cwd=PROJECT.root,
    )
    try:
        assert process.stdout is not None
        ends = json.loads(process.stdout.readline())["ends"]
        assert [end["address"] for end in ends] == ["10.77.0.1", "10.77.0.2"]
        assert all(Path(end["namespace"]).exists() for end in ends)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        give_up = time.monotonic() + 30
        while any(Path(end["namespace"]).exists() for end in ends) and time.monotonic() < give_up:
            time.sleep(0.01)
        assert not any(Path(end["namespace"]).exists() for end in ends)
    finally:
        process.kill()
        process.wait()


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--delay", "1"], "is not a duration"),
        (["--delay", "1ms", "--jitter", "2ms"], "more than the delay"),
        (["--loss", "100%"], "is no share"),
        (["--rate", "fast"], "is no rate"),
    ],
)
def test_what_can_be_no_path_is_refused(arguments: list[str], said: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", "from feedbench.cli import main; main()", "path", *arguments],
        capture_output=True,
        text=True,
        cwd=PROJECT.root,
        check=False,
    )
    assert result.returncode == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""
