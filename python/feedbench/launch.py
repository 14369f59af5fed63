"""Starts a target's server and ends it again, leaving no process behind.

The server gets a process group of its own, its knobs as FEEDBENCH_<KNOB>, and is ready when a real handshake
succeeds (spec/README.md, Server). It stays in the session of whoever starts it: a session is a scheduling
autogroup, and a run's shield must cover its servers (host/shield.py). It is killed when feedbench itself is.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from feedbench.certificate import own_certificate, trusting
from feedbench.commands import environment, fill
from feedbench.errors import TargetError
from feedbench.handshake import HandshakeError, open_websocket
from feedbench.host.process import own_preparation
from feedbench.paths import Project
from feedbench.target import LAUNCH_KNOBS, Target

UNSUPPORTED_STATUS = 127
TERM_GRACE_S = 2.0
READY_DEADLINE_S = 30.0
RETRY_S = 0.001  # start-up times are known no better than this
PORT_ATTEMPTS = 3
LOG_TAIL_LINES = 3


class UnsupportedError(TargetError):
    """The target said, with exit status 127, that it does not support what was asked of it."""


@dataclass(frozen=True)
class Ending:
    """How a server ended: `status` is negative for a signal; `seconds` is how long SIGTERM took."""

    status: int
    seconds: float
    killed: bool

    @property
    def clean(self) -> bool:
        return self.status == 0 and not self.killed


class Server:
    """A running server, answering at `url(path)`: wss where clients have an authority to trust.

    `start_up_ns` is how long it took from before its start to its first handshake.
    """

    def __init__(
        self,
        target: Target,
        process: subprocess.Popen[bytes],
        *,
        host: str,
        port: int,
        log: Path,
        authority_file: Path | None = None,
        started_ns: int = 0,
    ) -> None:
        self.target = target
        self.process = process
        self.host = host
        self.port = port
        self.log = log
        self.authority_file = authority_file
        self.started_ns = started_ns
        self.start_up_ns: int | None = None
        self.ending: Ending | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def authority(self) -> str:
        """`127.0.0.1:9001` or `[::1]:9001`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, path: str) -> str:
        return f"{'wss' if self.authority_file else 'ws'}://{self.authority}{path}"

    def connect(self, *, timeout_s: float) -> socket.socket:
        connection = socket.create_connection((self.host, self.port), timeout=timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.authority_file is None:
            return connection
        try:
            return trusting(self.authority_file).wrap_socket(connection, server_hostname=self.host)
        except BaseException:
            connection.close()
            raise

    def cause_of_death(self) -> TargetError | None:
        """Why the server is gone, with what it said last; None while it runs."""
        status = self.process.poll()
        return None if status is None else _death(self.target, status, self.log)

    def wait_ready(self, *, deadline_s: float) -> None:
        """Returns when all its paths have answered a handshake; TargetError when it dies or time is over."""
        paths = [f"/{model}" for model in self.target.served_models]
        give_up = time.monotonic() + deadline_s
        last = "it never listened"
        while time.monotonic() < give_up:
            death = self.cause_of_death()
            if death is not None:
                raise death
            try:
                for path in paths:
                    with self.connect(timeout_s=max(0.05, give_up - time.monotonic())) as connection:
                        open_websocket(connection, path=path, host=self.authority)
                self.start_up_ns = time.monotonic_ns() - self.started_ns
                return
            except (OSError, HandshakeError) as error:
                last = str(error) or type(error).__name__
                time.sleep(RETRY_S)
        raise TargetError(
            f"no handshake within {deadline_s:g} s ({last})",
            where=self.target.name,
            hint=_said(self.log) or f"see {self.log}",
        )

    def stop(self) -> Ending:
        """SIGTERM to the whole process group, SIGKILL to what is left after the grace time. Idempotent."""
        if self.ending is not None:
            return self.ending
        tree = _tree(self.pid)
        started = time.monotonic()
        _signal_group(self.pid, signal.SIGTERM)
        killed = False
        try:
            self.process.wait(TERM_GRACE_S)
        except subprocess.TimeoutExpired:
            killed = True
        seconds = time.monotonic() - started
        _signal_group(self.pid, signal.SIGKILL)
        for process in tree:
            # A child in its own session is beyond the group's reach. psutil checks that the pid is still its.
            with _ignoring_gone():
                process.kill()
        self.ending = Ending(status=self.process.wait(), seconds=seconds, killed=killed)
        return self.ending


@contextmanager
def serve(
    target: Target,
    *,
    project: Project,
    log: Path,
    knobs: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    cpus: Collection[int] | None = None,
    deadline_s: float = READY_DEADLINE_S,
) -> Iterator[Server]:
    """A server that has answered a handshake, for as long as the context lasts.

    `port` None takes a free one; `cpus` pins the process and all its threads; its output goes to `log`.
    UnsupportedError after exit status 127, TargetError for every other way of not getting ready.
    """
    server = _start_ready(
        target,
        project=project,
        log=log,
        knobs=knobs or {},
        host=host,
        port=port,
        cpus=cpus,
        deadline_s=deadline_s,
    )
    try:
        yield server
    finally:
        server.stop()


def _start_ready(
    target: Target,
    *,
    project: Project,
    log: Path,
    knobs: Mapping[str, str],
    host: str,
    port: int | None,
    cpus: Collection[int] | None,
    deadline_s: float,
) -> Server:
    """Between finding a free port and the server's bind another may take it: then a new one is tried."""
    attempts = PORT_ATTEMPTS if port is None else 1
    for attempt in range(1, attempts + 1):
        chosen = port if port is not None else free_port(host)
        server = start(target, project=project, log=log, knobs=knobs, host=host, port=chosen, cpus=cpus)
        try:
            server.wait_ready(deadline_s=deadline_s)
            return server
        except UnsupportedError:
            server.stop()
            raise
        except TargetError:
            server.stop()
            if attempt == attempts or not _port_was_taken(log):
                raise
        except BaseException:
            server.stop()
            raise
    raise AssertionError("the last attempt returns or raises")


def start(
    target: Target,
    *,
    project: Project,
    log: Path,
    knobs: Mapping[str, str],
    host: str,
    port: int,
    cpus: Collection[int] | None = None,
) -> Server:
    """Starts the server without waiting for it; whoever calls must `stop` it."""
    if target.server_command is None:
        raise UnsupportedError("it has no server to start", where=target.name)
    passed = {knob: value for knob, value in knobs.items() if knob not in LAUNCH_KNOBS}
    authority_file = None
    if knobs.get("tls") == "on":
        certificate = own_certificate(project)
        passed |= {"tls_certificate": str(certificate.chain), "tls_key": str(certificate.key)}
        authority_file = certificate.authority
    command = fill(
        target.server_command,
        target=target,
        project=project,
        mode=target.build_mode(knobs),
        host=host,
        port=str(port),
    )
    return start_program(
        command,
        target=target,
        env=environment(passed),
        log=log,
        host=host,
        port=port,
        cpus=cpus,
        authority_file=authority_file,
    )


def start_program(
    command: Sequence[str],
    *,
    target: Target,
    env: Mapping[str, str],
    log: Path,
    host: str,
    port: int,
    cpus: Collection[int] | None,
    authority_file: Path | None,
) -> Server:
    """Starts a program that will answer for `target`: its own server, or what stands before several."""
    log.parent.mkdir(parents=True, exist_ok=True)
    _allow_many_files()
    started_ns = time.monotonic_ns()
    with log.open("wb") as output, _calling_thread_on(cpus):
        try:
            process = subprocess.Popen(
                command,
                cwd=target.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=own_preparation(),
            )
        except OSError as error:
            raise TargetError(
                f"cannot start {command[0]}: {error.strerror}",
                where=target.name,
                hint=f"feedbench build {target.name}",
            ) from error
    return Server(
        target,
        process,
        host=host,
        port=port,
        log=log,
        authority_file=authority_file,
        started_ns=started_ns,
    )


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nothing listens on at this moment."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def log_tail(log: Path, *, lines: int = LOG_TAIL_LINES) -> str:
    """The last lines that say something, joined by ` | `; empty when there are none."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-lines:])


def _allow_many_files() -> None:
    """A connection is a descriptor: children inherit the most that we may open."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextmanager
def _calling_thread_on(cpus: Collection[int] | None) -> Iterator[None]:
    """A child inherits the affinity of the thread that starts it: no thread of it ever runs elsewhere."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _death(target: Target, status: int, log: Path) -> TargetError:
    said = _said(log)
    if status == UNSUPPORTED_STATUS:
        return UnsupportedError("it does not support this", where=target.name, hint=said)
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return TargetError(f"the server {how}", where=target.name, hint=said or "it said nothing")


def _said(log: Path) -> str | None:
    tail = log_tail(log)
    return f"it said: {tail}" if tail else None


def _port_was_taken(log: Path) -> bool:
    said = log_tail(log, lines=50).lower()
    return "in use" in said or "eaddrinuse" in said


def _tree(pid: int) -> list[psutil.Process]:
    with _ignoring_gone():
        return psutil.Process(pid).children(recursive=True)
    return []


def _signal_group(pid: int, number: signal.Signals) -> None:
    # process_group=0 made the server leader of a group of its own number; no number is reused so soon.
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


@contextmanager
def _ignoring_gone() -> Iterator[None]:
    try:
        yield
    except psutil.NoSuchProcess:
        return
