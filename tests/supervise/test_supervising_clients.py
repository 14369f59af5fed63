"""Real clients on the simulated exchange: killed, found again, ended; and what their records then say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedbench.feed.stamps import Ending, Kind, read_stamps
from feedbench.paths import Project
from feedbench.pipeline.series import Series
from feedbench.supervise.child import find_child
from feedbench.supervise.folder import Folder
from feedbench.supervise.journal import Entry, read

pytestmark = pytest.mark.end_to_end
CLIENT = "python/websockets"
SERIES = Series("binance", "python-websockets")
DEADLINE_S = 120.0


def until(condition: Callable[[], Any], what: str) -> Any:
    give_up = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < give_up, f"not within {DEADLINE_S:g} s: {what}"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Of a simulated Binance."""
    binary = Project.find().exchange
    if not binary.exists():
        pytest.skip("the exchange is not built")
    command = [
        str(binary),
        "--personality",
        "binance",
        "--no-tls",
        "--json",
        "--symbols",
        "1",
        "--rate",
        "500",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            document = json.loads(process.stdout.readline())
            yield int(document["urls"]["binance"]["ws"].rpartition(":")[2])
        finally:
            process.terminate()


@pytest.fixture
def folder(tmp_path: Path, port: int) -> Folder:
    (tmp_path / "supervise.toml").write_text(
        f'schema = 1\nname = "test"\nclients = ["{CLIENT}"]\n[[exchanges]]\nname = "binance"\n'
        f'domain = "ws://127.0.0.1"\nport = {port}\nstream = "/ws/btcusdt@trade"\n'
    )
    return Folder(tmp_path)


@pytest.fixture
def supervise(folder: Folder) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a supervisor on the folder; in the end nothing of it is left."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-c",
            "from feedbench.cli import main; main()",
            "supervise",
            str(folder.path),
        ]
        with (folder.path / f"supervisor-{len(started)}.log").open("wb") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
    if child := find_child(folder.child_lock(SERIES)):
        child.kill()


def messages(folder: Folder) -> int:
    record = folder.record(SERIES, "stamps")
    return int(np.count_nonzero(read_stamps(record).is_message)) if record.exists() else 0


def received(folder: Folder, more: int = 20) -> None:
    """Waits until so many messages more are in the record."""
    before = messages(folder)
    until(lambda: messages(folder) >= before + more, "more messages")


def connections_of(folder: Folder) -> list[list[int]]:
    """The trades' numbers, connection by connection."""
    stamps = read_stamps(folder.record(SERIES, "stamps"))
    found: list[list[int]] = []
    for index, kind in enumerate(stamps.heads["kind"]):
        if kind == Kind.CONNECTED:
            found.append([])
        elif kind == Kind.TEXT:
            found[-1].append(json.loads(stamps.payload(index))["t"])
    return found


def kinds(folder: Folder) -> list[str]:
    return [entry.kind for entry in read(folder.journal)]


def deaths(folder: Folder) -> list[Entry]:
    return [entry for entry in read(folder.journal) if entry.kind == "died"]


def noted(folder: Folder, count: int) -> bool:
    return len(deaths(folder)) == count


def gapless(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_killed_client_is_started_again_and_loses_only_what_came_meanwhile(
    folder: Folder, supervise: Callable[[], subprocess.Popen[bytes]]
) -> None:
    supervisor = supervise()
    for death in range(1, 4):
        received(folder)
        child = find_child(folder.child_lock(SERIES))
        assert child is not None
        os.kill(child.pid, signal.SIGKILL)
        until(partial(noted, folder, death), "the death is noted")
        until(lambda: find_child(folder.child_lock(SERIES)), "it is started again")
    received(folder)
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(timeout=DEADLINE_S) == 0
    assert kinds(folder) == ["started", "died"] * 3 + ["started", "ended"]
    assert all("SIGKILL" in str(entry.cause) for entry in deaths(folder))
    connections = connections_of(folder)
    assert len(connections) == 4
    assert all(gapless(numbers) for numbers in connections)
    assert read_stamps(folder.record(SERIES, "stamps")).ending is Ending.ENDED


def test_killing_the_supervisor_loses_nothing_and_the_next_finds_its_children(
    folder: Folder, supervise: Callable[[], subprocess.Popen[bytes]]
) -> None:
    first = supervise()
    received(folder)
    child = find_child(folder.child_lock(SERIES))
    assert child is not None
    first.kill()
    first.wait()
    received(folder)
    second = supervise()
    until(lambda: "found" in kinds(folder), "the client is found")
    received(folder)
    found = find_child(folder.child_lock(SERIES))
    assert found is not None
    assert (found.pid, found.started_unix_ns) == (child.pid, child.started_unix_ns)
    folder.exit_file.touch()
    assert second.wait(timeout=DEADLINE_S) == 0
    assert kinds(folder) == ["started", "found", "ended"]
    (numbers,) = connections_of(folder)
    assert gapless(numbers)
    assert len(numbers) >= 60


def test_what_died_without_a_supervisor_is_an_outage_too(
    folder: Folder, supervise: Callable[[], subprocess.Popen[bytes]]
) -> None:
    first = supervise()
    received(folder)
    child = find_child(folder.child_lock(SERIES))
    assert child is not None
    first.kill()
    first.wait()
    os.kill(child.pid, signal.SIGKILL)
    until(lambda: find_child(folder.child_lock(SERIES)) is None, "the client ends")
    with folder.record(SERIES, "stamps").open("ab") as record:
        record.write(b"\x01" * 30)  # a record that was cut
    second = supervise()
    received(folder)
    second.send_signal(signal.SIGINT)
    assert second.wait(timeout=DEADLINE_S) == 0
    assert kinds(folder) == ["started", "died", "started", "ended"]
    assert "while no supervisor was there" in str(deaths(folder)[0].cause)
    assert len(connections_of(folder)) == 2


def test_there_is_one_supervisor_at_most(
    folder: Folder, supervise: Callable[[], subprocess.Popen[bytes]]
) -> None:
    supervise()
    received(folder)
    second = supervise()
    assert second.wait(timeout=DEADLINE_S) == 1
    assert "another supervisor is at it" in (folder.path / "supervisor-1.log").read_text()
    assert find_child(folder.child_lock(SERIES)) is not None


def test_status_tells_how_clients_are(
    folder: Folder, supervise: Callable[[], subprocess.Popen[bytes]]
) -> None:
    supervise()
    received(folder)
    command = [sys.executable, "-c", "from feedbench.cli import main; main()", "status", str(folder.path)]
    document = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)
    (series,) = document["series"]
    assert (series["series"], series["state"], series["starts"], series["deaths"]) == (
        str(SERIES),
        "up",
        1,
        0,
    )
    assert series["record_bytes"] > 0
    child = find_child(folder.child_lock(SERIES))
    assert child is not None
    assert series["pid"] == child.pid
    text = subprocess.run([*command, "--once"], capture_output=True, check=True, text=True).stdout
    assert "python-websockets@binance" in text
