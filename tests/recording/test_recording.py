"""A recording holds what was sent, through lost connections, full disks and sudden deaths."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.sync.server import Server, ServerConnection, serve

from feedbench.errors import FeedbenchError
from feedbench.recording.file import RecordingFile, whole_length
from feedbench.recording.recorder import Order, Progress, record

HUNDRED = 100
FEEDBENCH = str(Path(sys.executable).with_name("feedbench"))


def numbered(connection: ServerConnection) -> None:
    """A subscription is acknowledged; then come a hundred numbered frames, and the connection is cut."""
    if connection.request is not None and connection.request.path == "/subscribe":
        connection.send(json.dumps({"ack": connection.recv()}))
    for number in range(HUNDRED):
        connection.send(json.dumps({"n": number}))
    connection.socket.shutdown(2)


def endless(connection: ServerConnection) -> None:
    for number in range(10_000_000):
        connection.send(json.dumps({"n": number}))


@pytest.fixture
def feed() -> Iterator[str]:
    with running(numbered) as url:
        yield url


class running:  # noqa: N801 — reads as the context that it is
    def __init__(self, handler) -> None:  # type: ignore[no-untyped-def]
        self.server: Server = serve(handler, "127.0.0.1", 0, compression=None)

    def __enter__(self) -> str:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()


def recorded(order: Order, path: Path, *, append: bool = False) -> Progress:
    async def run() -> Progress:
        return await record(order, file, stopped=asyncio.Event(), told=lambda _: None)

    file = RecordingFile(path, append=append)
    try:
        return asyncio.run(run())
    finally:
        file.close()


def lines(path: Path) -> list[str]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode().splitlines()


def numbers(path: Path) -> list[int]:
    frames = [line.split(" ", 1)[1] for line in lines(path) if line[0].isdigit()]
    return [json.loads(frame)["n"] for frame in frames if "n" in json.loads(frame)]


@pytest.mark.parametrize("name", ["feed.txt", "feed.gz"])
def test_every_frame_is_recorded_and_a_lost_connection_is_made_again(
    feed: str, name: str, tmp_path: Path
) -> None:
    order = Order(f"{feed}/subscribe", subscribe=("please",), frames=2 * HUNDRED + 2)
    progress = recorded(order, tmp_path / name)
    assert (progress.frames, progress.connections) == (2 * HUNDRED + 2, 2)
    assert progress.gap_s > 0
    assert numbers(tmp_path / name) == [*range(HUNDRED), *range(HUNDRED)]
    begun = [line for line in lines(tmp_path / name) if " <-> " in line]
    asked = [line for line in lines(tmp_path / name) if " <- " in line]
    assert len(begun) == len(asked) == 2
    assert all(line.endswith(": please") for line in asked)


def test_times_are_those_of_receipt(feed: str, tmp_path: Path) -> None:
    before_ns = time.time_ns()
    recorded(Order(feed, frames=50), tmp_path / "feed.txt")
    times = [int(line.split(" ")[0]) for line in lines(tmp_path / "feed.txt") if line[0].isdigit()]
    assert before_ns < times[0]
    assert times == sorted(times)
    assert times[-1] < time.time_ns()


def test_a_feed_that_was_never_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FeedbenchError, match="cannot connect"):
        recorded(Order("ws://127.0.0.1:1", frames=1), tmp_path / "feed.txt")
    with pytest.raises(FeedbenchError, match="no ws"):
        recorded(Order("http://127.0.0.1:1", frames=1), tmp_path / "other.txt")


def test_an_existing_recording_is_not_overwritten_but_gone_on_with(feed: str, tmp_path: Path) -> None:
    path = tmp_path / "feed.txt"
    recorded(Order(feed, frames=10), path)
    with pytest.raises(FeedbenchError, match="there already"):
        RecordingFile(path, append=False)
    recorded(Order(feed, frames=10), path, append=True)
    assert numbers(path) == [*range(10), *range(10)]


def test_json_over_several_lines_becomes_one(tmp_path: Path) -> None:
    def pretty(connection: ServerConnection) -> None:
        connection.send('{\n "n":\r\n 1}')
        connection.send(b"\x00binary")
        connection.send('{"n": 2}')
        connection.recv()

    with running(pretty) as url:
        progress = recorded(Order(url, frames=2), tmp_path / "feed.txt")
    assert numbers(tmp_path / "feed.txt") == [1, 2]
    assert (progress.joined_lines, progress.binary) == (1, 1)


@given(cut=st.integers(0, 400), count=st.integers(0, 6), packed=st.booleans())
def test_a_file_cut_anywhere_goes_on_from_its_last_whole_acknowledgement(
    cut: int, count: int, packed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / ("feed.gz" if packed else "feed.txt")
    file = RecordingFile(path, append=False)
    ends = [0]
    for number in range(count):
        file.add(f'{number} {{"n": {number}}}'.encode())
        file.acknowledge()
        ends.append(path.stat().st_size)
    file.close()
    os.truncate(path, min(cut, ends[-1]))
    survivors = sum(end <= cut for end in ends) - 1
    assert whole_length(path) == ends[survivors]
    again = RecordingFile(path, append=True)
    again.add(b'99 {"n": 99}')
    again.close()
    assert numbers(path) == [*range(survivors), 99]


@pytest.mark.parametrize("name", ["feed.txt", "feed.gz"])
def test_a_full_disk_keeps_what_was_acknowledged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RecordingFile(tmp_path / name, append=False)
    file.add(b'1 {"n": 1}')
    assert file.acknowledge() == 1
    really_write, room = os.write, [5]

    def write(descriptor: int, content: bytes) -> int:
        if not room:
            raise OSError(28, "No space left on device")
        return really_write(descriptor, content[: room.pop()])

    monkeypatch.setattr(os, "write", write)
    file.add(b'2 {"n": 2}')
    with pytest.raises(FeedbenchError, match="No space left on device; 1 lines are safe"):
        file.acknowledge()
    monkeypatch.undo()
    assert numbers(tmp_path / name) == [1]


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["feed.txt", "feed.gz"])
def test_a_recorder_that_is_killed_loses_nothing_that_it_called_safe(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with running(endless) as url:
        command = [FEEDBENCH, "record", url, "-o", str(path), "--acknowledge", "20ms"]
        recorder = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert recorder.stderr is not None
        safe = 0
        for line in recorder.stderr:
            safe = int(line.split()[0])
            if safe > 2_000:
                recorder.kill()
                break
        recorder.wait(30)
        recorder.stderr.close()
    whole = path.read_bytes()[: whole_length(path)]
    kept = (gzip.decompress(whole) if path.suffix == ".gz" else whole).decode().splitlines()
    assert len(kept) >= safe
    got = [json.loads(line.split(" ", 1)[1])["n"] for line in kept if line[0].isdigit()]
    assert got == list(range(len(got)))


@pytest.mark.end_to_end
def test_the_command_ends_in_order_on_sigterm(tmp_path: Path) -> None:
    with running(endless) as url:
        command = [
            FEEDBENCH,
            "record",
            url,
            "-o",
            str(tmp_path / "feed.gz"),
            "--json",
        ]
        recorder = subprocess.Popen(
            [*command, "--acknowledge", "50ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert recorder.stderr is not None
        recorder.stderr.readline()  # something is safe
        recorder.send_signal(signal.SIGTERM)
        output, _ = recorder.communicate(timeout=60)
    assert recorder.returncode == 0
    told = json.loads(output)
    assert told["frames"] == len(numbers(tmp_path / "feed.gz"))
    assert told["acknowledged"] == told["frames"] + 1  # the connection's own line
