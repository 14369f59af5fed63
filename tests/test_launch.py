"""Starting and ending servers: every way in which a fake one can go wrong has its own clear words."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from feedbench.errors import TargetError
from feedbench.launch import Server, UnsupportedError, free_port, log_tail, serve, start
from feedbench.paths import Project
from feedbench.registry import discover
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def fake() -> Target:
    return discover(PROJECT, probe=lambda need: None).get("_fake/echo")


def test_a_server_answers_while_the_context_lasts_and_is_gone_after(fake: Target, tmp_path: Path) -> None:
    with serve(fake, project=PROJECT, log=tmp_path / "log") as server:
        assert server.url("/echo") == f"ws://127.0.0.1:{server.port}/echo"
        assert server.cause_of_death() is None
        pid = server.pid
    assert not psutil.pid_exists(pid)
    assert server.ending is not None
    assert server.ending.clean
    assert server.stop() is server.ending, "ending twice changes nothing"


def test_it_is_ended_when_the_body_fails(fake: Target, tmp_path: Path) -> None:
    with pytest.raises(KeyError), serve(fake, project=PROJECT, log=tmp_path / "log") as server:
        raise KeyError("mistake")
    assert not psutil.pid_exists(server.pid)


def test_it_is_pinned_with_all_its_threads_and_we_are_not(fake: Target, tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    cpu = min(before)
    with serve(fake, project=PROJECT, log=tmp_path / "log", cpus={cpu}) as server:
        assert os.sched_getaffinity(server.pid) == {cpu}
        for thread in psutil.Process(server.pid).threads():
            assert os.sched_getaffinity(thread.id) == {cpu}
    assert os.sched_getaffinity(0) == before


def test_knobs_arrive_and_nothing_else_of_ours_does(
    fake: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEEDBENCH_DEFLATE", "on")
    script = 'env | grep ^FEEDBENCH_; exec "$@"'
    command = fake.server_command
    assert command is not None
    shown = replace(fake, server_command=("sh", "-c", script, "sh", *command))
    with serve(shown, project=PROJECT, log=tmp_path / "log", knobs={"delay_ns": "5000"}):
        pass
    assert (tmp_path / "log").read_text().splitlines()[0] == "FEEDBENCH_DELAY_NS=5000"
    assert "DEFLATE" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("knobs", "error", "told"),
    [
        ({"start": "unsupported"}, UnsupportedError, "it does not support this"),
        ({"handshake": "refuse"}, TargetError, "no handshake within 2 s"),
        ({"handshake": "wrong"}, TargetError, "no handshake within 2 s"),
        ({"handshake": "hang"}, TargetError, "no handshake within 2 s"),
        ({"start": "hang"}, TargetError, "no handshake within 2 s"),
        ({"start": "port-taken"}, TargetError, "ended with status"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_server_that_does_not_get_ready_is_told_and_ended(
    fake: Target, tmp_path: Path, knobs: dict[str, str], error: type[TargetError], told: str
) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    server = serve(fake, project=PROJECT, log=tmp_path / "log", knobs=knobs, deadline_s=2)
    with pytest.raises(error) as failed, server:
        pass
    assert told in str(failed.value)
    assert failed.value.where == "_fake/echo"
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_one_that_ignores_sigterm_is_killed_with_its_children(fake: Target, tmp_path: Path) -> None:
    with serve(fake, project=PROJECT, log=tmp_path / "log", knobs={"ignore_sigterm": "true"}) as server:
        pass
    assert server.ending is not None
    assert server.ending.killed
    assert not server.ending.clean
    assert not psutil.pid_exists(server.pid)


def test_a_port_that_is_taken_is_a_clear_failure_when_it_was_asked_for(fake: Target, tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        # Nobody accepts on the holder, so that no handshake can come from it.
        with (
            pytest.raises(TargetError) as failed,
            serve(fake, project=PROJECT, log=tmp_path / "log", port=port, deadline_s=5),
        ):
            pass
    assert "in use" in str(failed.value)


def test_a_program_that_is_not_there_is_told_with_the_command_that_builds_it(
    fake: Target, tmp_path: Path
) -> None:
    with (
        pytest.raises(TargetError, match="cannot start no-such-server") as failed,
        serve(replace(fake, server_command=("no-such-server",)), project=PROJECT, log=tmp_path / "log"),
    ):
        pass
    assert failed.value.hint == "feedbench build _fake/echo"


def test_a_target_without_a_server_is_unsupported(fake: Target, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no server"):
        start(
            replace(fake, server_command=None),
            project=PROJECT,
            log=tmp_path / "log",
            knobs={},
            host="127.0.0.1",
            port=free_port(),
        )


def test_the_tail_of_a_log_is_its_last_lines_that_say_something(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\ntwo\n\nthree \xff\n\nfour\n\n")
    assert log_tail(tmp_path / "log") == "two | three � | four"
    assert log_tail(tmp_path / "none") == ""


def test_an_address_with_colons_stands_in_brackets(fake: Target, tmp_path: Path) -> None:
    server = object.__new__(Server)
    server.host, server.port, server.authority_file = "::1", 9, None
    assert server.url("/echo") == "ws://[::1]:9/echo"
