"""Several processes at one address: a shared port, a balancer, TLS; and who can't do it."""

from __future__ import annotations

import shutil
import ssl
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from feedbench.balancer import configuration
from feedbench.certificate import own_certificate
from feedbench.errors import TargetError
from feedbench.handshake import open_websocket
from feedbench.launch import UnsupportedError
from feedbench.paths import Project
from feedbench.registry import discover
from feedbench.service import serve
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def fake() -> Target:
    return discover(PROJECT, probe=lambda need: None).get("_fake/echo")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Our own targets, with a certificate of the test's own."""
    (tmp_path / "targets").symlink_to(PROJECT.targets)
    return Project(tmp_path)


def connections_of(pid: int) -> int:
    return sum(
        connection.status == psutil.CONN_ESTABLISHED
        for connection in psutil.Process(pid).net_connections("tcp")
    )


def test_processes_share_a_port_and_the_connections(fake: Target, tmp_path: Path) -> None:
    with (
        serve(fake, project=PROJECT, log=tmp_path / "a.log", knobs={"processes": "3"}) as service,
        ExitStack() as stack,
    ):
        assert len(set(service.pids)) == 3
        assert len({server.port for server in service.servers}) == 1
        assert service.start_up_ns > 0
        for _ in range(60):
            connection = stack.enter_context(service.servers[0].connect(timeout_s=10))
            open_websocket(connection, path="/echo", host="localhost")
        held = [connections_of(pid) for pid in service.pids]
        assert sum(held) == 60
        assert min(held) > 0, "the kernel spreads connections over all that listen"
    assert not any(psutil.pid_exists(pid) for pid in service.pids)
    assert (tmp_path / "a~2.log").exists()


def test_one_dead_process_is_the_death_of_the_service(fake: Target, tmp_path: Path) -> None:
    with serve(fake, project=PROJECT, log=tmp_path / "log", knobs={"processes": "2"}) as service:
        assert service.cause_of_death() is None
        service.processes[1].kill()
        service.processes[1].wait()
        assert "ended by SIGKILL" in str(service.cause_of_death())


def test_a_target_that_cannot_share_a_port_is_unsupported(fake: Target, tmp_path: Path) -> None:
    alone = replace(fake, knobs={knob: values for knob, values in fake.knobs.items() if knob != "reuse_port"})
    with (
        pytest.raises(UnsupportedError, match="no knob reuse_port"),
        serve(alone, project=PROJECT, log=tmp_path / "log", knobs={"processes": "2"}),
    ):
        pass


def test_one_that_claims_to_share_a_port_and_does_not_is_told(fake: Target, tmp_path: Path) -> None:
    command = fake.server_command
    assert command is not None
    liar = replace(fake, server_command=("env", "-u", "FEEDBENCH_REUSE_PORT", *command))
    with (
        pytest.raises(TargetError, match="in use"),
        serve(liar, project=PROJECT, log=tmp_path / "log", knobs={"processes": "2"}, deadline_s=20),
    ):
        pass


def test_tls_is_served_with_a_certificate_that_clients_can_check(
    fake: Target, project: Project, tmp_path: Path
) -> None:
    with serve(fake, project=project, log=tmp_path / "log", knobs={"tls": "on"}) as service:
        assert service.url("/echo").startswith("wss://127.0.0.1:")
        assert service.authority_file == own_certificate(project).authority
        with service.servers[0].connect(timeout_s=10) as connection:
            assert isinstance(connection, ssl.SSLSocket)
            open_websocket(connection, path="/echo", host="localhost")


def test_a_certificate_is_made_once_and_strangers_are_not_trusted(project: Project, tmp_path: Path) -> None:
    first = own_certificate(project)
    made = first.chain.read_bytes()
    assert own_certificate(project).chain.read_bytes() == made
    assert first.key.stat().st_mode & 0o077 == 0
    (tmp_path / "other").mkdir()
    assert own_certificate(Project(tmp_path / "other")).authority.read_bytes() != first.authority.read_bytes()


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not on PATH")
@pytest.mark.parametrize("tls", ["off", "on"])
def test_haproxy_spreads_connections_over_its_instances(
    fake: Target, project: Project, tmp_path: Path, tls: str
) -> None:
    knobs = {"processes": "2", "balancer": "haproxy", "tls": tls}
    with (
        serve(fake, project=project, log=tmp_path / "log", knobs=knobs) as service,
        ExitStack() as stack,
    ):
        front, *instances = service.servers
        assert len({server.port for server in service.servers}) == 3
        for _ in range(4):
            connection = stack.enter_context(front.connect(timeout_s=10))
            open_websocket(connection, path="/echo", host="localhost")
        assert [connections_of(instance.pid) for instance in instances] == [2, 2]
    assert not any(psutil.pid_exists(pid) for pid in service.pids)


def test_without_haproxy_that_is_what_is_told(
    fake: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    knobs = {"processes": "1", "balancer": "haproxy"}
    with (
        pytest.raises(UnsupportedError, match=r"haproxy is not on PATH .*apt-get install haproxy"),
        serve(fake, project=PROJECT, log=tmp_path / "log", knobs=knobs),
    ):
        pass


def test_the_balancers_configuration_names_each_instance_once() -> None:
    text = configuration("127.0.0.1:9", ["127.0.0.1:10", "127.0.0.1:11"], most_connections=7)
    assert "bind 127.0.0.1:9\n" in text
    assert text.count("maxconn 7\n") == 2
    assert "server instance1 127.0.0.1:10\n    server instance2 127.0.0.1:11\n" in text


def test_a_debug_build_is_started_from_its_own_folder(fake: Target, tmp_path: Path) -> None:
    command = fake.server_command
    assert command is not None
    shown = replace(
        fake,
        debug_commands=(),
        knobs={**fake.knobs, "build_mode": ("release", "debug")},
        server_command=(
            "sh",
            "-c",
            'echo "$1"; env | grep ^FEEDBENCH_; shift; exec "$@"',
            "sh",
            "{build}",
            *command,
        ),
    )
    for mode, folder in (("release", "_fake-echo"), ("debug", "_fake-echo~debug")):
        with serve(shown, project=PROJECT, log=tmp_path / mode, knobs={"build_mode": mode}):
            pass
        lines = (tmp_path / mode).read_text().splitlines()
        built = (PROJECT.scratch / "build" / folder).resolve()
        assert lines == [str(built)], "and the program is told nothing of it"
