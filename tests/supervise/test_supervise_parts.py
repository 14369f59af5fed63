"""Back-off, journal and the lock by which a child is found: without a client."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.errors import FeedbenchError, RunDirectoryError, ScenarioError, TargetError
from feedbench.feed.client import Address
from feedbench.paths import Project
from feedbench.pipeline.series import Series
from feedbench.registry import Registry, discover
from feedbench.supervise.backoff import MOST_S, STEADY_S, Backoff
from feedbench.supervise.child import Child, find_child, start_child
from feedbench.supervise.folder import Folder
from feedbench.supervise.journal import Entry, append, history, read
from feedbench.supervise.supervisor import Supervisor
from feedbench.supervise.task import Endpoint, Task, read_task

SERIES = Series("binance", "node-ws")
TASK = """
schema = 1
name = "live"
clients = ["node/ws", "go/gorilla"]
[[exchanges]]
name = "binance"
domain = "ws://127.0.0.1"
port = 9443
stream = "/ws/btcusdt@trade"
"""


def test_waiting_doubles_up_to_a_bound_and_begins_anew_after_a_steady_run() -> None:
    waits = []
    backoff = Backoff()
    for _ in range(7):
        backoff = backoff.after(ran_s=1)
        waits.append(backoff.wait_s)
    assert waits == [0.5, 1, 2, 4, 8, 8, 8]
    assert max(waits) == MOST_S
    assert backoff.after(ran_s=STEADY_S).wait_s == 0.5


def test_an_outage_lasts_from_a_death_to_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "outages.jsonl"
    name = str(SERIES)
    for entry in (
        Entry("started", name, 100, 1), Entry("started", "other@binance", 120, 2),
        Entry("died", name, 200, 1, "x"), Entry("started", name, 230, 3),
        Entry("found", name, 300, 3), Entry("died", name, 400, 3, "y"),
    ):  # fmt: skip
        append(path, entry)
    found = history(read(path), SERIES, now_unix_ns=450)
    assert (found.starts, found.deaths, found.down_ns) == (2, 2, 30 + 50)
    assert found.last == Entry("died", name, 400, 3, "y")


def test_a_file_of_another_kind_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "outages.jsonl"
    path.write_text('{"schema": 1, "hello": 2}\n')
    with pytest.raises(RunDirectoryError, match="no journal"):
        read(path)


def test_a_child_is_found_while_it_lives_and_not_after(tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    assert find_child(lock) is None
    command = [sys.executable, "-c", "import sys; sys.stdin.read()\nimport time; time.sleep(600)"]
    before_ns = time.time_ns()
    child = start_child(command, folder=tmp_path, environment=os.environ, lock=lock, log=tmp_path / "log")
    assert child.process is not None
    found = find_child(lock)
    assert found is not None
    assert (found.pid, found.started_unix_ns) == (child.process.pid, child.started_unix_ns)
    assert before_ns <= found.started_unix_ns <= time.time_ns()
    with pytest.raises(TargetError, match="lives already"):
        start_child(command, folder=tmp_path, environment=os.environ, lock=lock, log=tmp_path / "log")
    found.kill()
    child.process.wait()
    assert find_child(lock) is None
    found.kill()  # of one that is gone, nothing


def test_a_child_outlives_its_supervisor(tmp_path: Path) -> None:
    """Started by a process that is killed at once, and found by this one."""
    lock = tmp_path / "a.lock"
    starter = (
        "import os, sys, signal; from pathlib import Path\n"
        "from feedbench.supervise.child import start_child\n"
        f"place = Path({str(tmp_path)!r})\n"
        "command = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "start_child(command, folder=place, environment=os.environ, lock=place / 'a.lock', "
        "log=place / 'log')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", starter], check=False).returncode == -9
    child = find_child(lock)
    assert child is not None
    assert child.process is None
    child.kill()
    deadline = time.monotonic() + 30
    while find_child(lock) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot start"):
        start_child(
            ["/nowhere"], folder=tmp_path, environment={}, lock=tmp_path / "a.lock", log=tmp_path / "log"
        )
    assert find_child(tmp_path / "a.lock") is None


def test_every_client_follows_every_exchange(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_text(TASK)
    task = read_task(path)
    assert [(str(series), client) for series, client, _ in task.series()] == [
        ("node-ws@binance", "node/ws"),
        ("go-gorilla@binance", "go/gorilla"),
    ]
    assert task.sink == "stamps"
    assert task.endpoints[0].address.arguments == ["binance", "ws://127.0.0.1", "9443", "/ws/btcusdt@trade"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("port = 9443", "port = 0"), "port"),
        (('stream = "/ws', 'stream = "ws'), "stream"),
        (('name = "binance"', 'name = "binance"\nclient = 1'), "client"),
        (("[[exchanges]]", "[[exchange]]"), "exchange"),
    ],
)
def test_mistakes_in_the_file_name_their_line(
    tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    path = tmp_path / "task.toml"
    path.write_text(TASK.replace(*change))
    with pytest.raises(ScenarioError, match=complaint):
        read_task(path)


def test_a_client_that_can_never_run_is_given_up_and_told(tmp_path: Path) -> None:
    """It ends with the status of wrong arguments; one that breaks is tried again."""
    project = Project.find()
    registry = discover(project)
    refusing = replace(
        registry.get("python/websockets"),
        feed_client_command=(sys.executable, "-c", "raise SystemExit(2)"),
    )
    endpoint = Endpoint(Address("binance", "ws://127.0.0.1", 1, "/ws"), (), None)
    task = Task("test", ("python/websockets",), (endpoint,), "stamps")
    said: list[str] = []
    supervisor = Supervisor(
        task, Folder(tmp_path), Registry((refusing,), {}), project, said.append, asked_to_end=lambda: False
    )
    with pytest.raises(FeedbenchError, match="no client is left"):
        supervisor.run()
    entries = read(Folder(tmp_path).journal)
    assert [entry.kind for entry in entries] == ["started", "died", "given_up"]
    assert "status 2" in str(entries[1].cause)
    assert "it is not started again" in said[-1]


def test_a_lock_that_is_not_yet_signed_is_waited_for(tmp_path: Path) -> None:
    """Between taking its lock and writing who it is, a child is nobody yet."""
    lock = tmp_path / "lock"
    with lock.open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with ThreadPoolExecutor() as pool:
            looking = pool.submit(find_child, lock)
            with pytest.raises(TimeoutError):
                looking.result(0.05)
            os.write(held.fileno(), b"[17,18]")
            assert looking.result(30) == Child(17, 18)
    assert find_child(lock) is None
