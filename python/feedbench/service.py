"""What answers at one address: usually one process of a target, else several behind one port.

With the knob `processes` a target's copies share a port through SO_REUSEPORT, if its knob reuse_port says
that they can; with `balancer` each has a port of its own, and a load balancer stands before them.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from feedbench.balancer import start_haproxy
from feedbench.errors import TargetError
from feedbench.launch import READY_DEADLINE_S, RETRY_S, Server, UnsupportedError, start
from feedbench.launch import serve as serve_one
from feedbench.paths import Project
from feedbench.run.resources import TreeReading, read_rss_bytes, read_tree, tree
from feedbench.target import BALANCER, PROCESSES, REUSE_PORT, Target


@dataclass(frozen=True)
class Service:
    """`servers` are all its processes; the first answers for all of them at its address."""

    servers: tuple[Server, ...]
    start_up_ns: int

    def url(self, path: str) -> str:
        return self.servers[0].url(path)

    @property
    def authority_file(self) -> Path | None:
        return self.servers[0].authority_file

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(server.pid for server in self.servers)

    @property
    def processes(self) -> tuple[subprocess.Popen[bytes], ...]:
        return tuple(server.process for server in self.servers)

    def reading(self) -> TreeReading:
        """What all its processes have used so far."""
        return read_tree(*self.pids)

    def memory_reader(self) -> Callable[[], int]:
        """Reads their resident memory; who belongs to them is looked up now, and not then."""
        members = tree(*self.pids)
        return lambda: read_rss_bytes(members)

    def cause_of_death(self) -> TargetError | None:
        """Why one of its processes is gone; None while all run."""
        return next(filter(None, (server.cause_of_death() for server in self.servers)), None)


@dataclass(frozen=True)
class _Order:
    """What each process of a service is started with."""

    target: Target
    project: Project
    knobs: Mapping[str, str]
    host: str
    cpus: Collection[int] | None
    deadline_s: float

    @property
    def processes(self) -> int:
        return int(self.knobs.get(PROCESSES, "1"))

    def serve_one(self, log: Path) -> AbstractContextManager[Server]:
        return serve_one(
            self.target,
            project=self.project,
            log=log,
            knobs=self.knobs,
            host=self.host,
            cpus=self.cpus,
            deadline_s=self.deadline_s,
        )


@contextmanager
def serve(
    target: Target,
    *,
    project: Project,
    log: Path,
    knobs: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
    cpus: Collection[int] | None = None,
    deadline_s: float = READY_DEADLINE_S,
) -> Iterator[Service]:
    """A service all of whose processes are ready, for as long as the context lasts.

    `cpus` pins all of them, the balancer too; each writes a log of its own, the others' beside the first.
    UnsupportedError when the target, or this machine, can't do what the knobs say, TargetError for other ways
    of not getting ready.
    """
    order = _Order(target, project, knobs or {}, host, cpus, deadline_s)
    if order.processes < 1:
        raise UnsupportedError(f"{PROCESSES} = {order.processes} leaves nobody to serve", where=target.name)
    with ExitStack() as stack:
        begin_ns = time.monotonic_ns()
        if order.knobs.get(BALANCER, "none") != "none":
            servers = _behind_balancer(stack, order, log)
        elif order.processes > 1:
            servers = _on_one_port(stack, order, log)
        else:
            servers = [stack.enter_context(order.serve_one(log))]
            begin_ns = servers[0].started_ns  # after its port was taken for the last time
        yield Service(tuple(servers), start_up_ns=time.monotonic_ns() - begin_ns)


def _on_one_port(stack: ExitStack, order: _Order, log: Path) -> list[Server]:
    """All of them started at once, each listening on the same port."""
    if not order.target.takes(REUSE_PORT, "on"):
        raise UnsupportedError(
            f"with {PROCESSES} = {order.processes}: it has no knob {REUSE_PORT}", where=order.target.name
        )
    with closing(_reserved(order.host)) as reserved:
        servers = []
        for index in range(order.processes):
            server = start(
                order.target,
                project=order.project,
                log=_numbered(log, index),
                knobs={**order.knobs, REUSE_PORT: "on"},
                host=order.host,
                port=int(reserved.getsockname()[1]),
                cpus=order.cpus,
            )
            stack.callback(server.stop)
            servers.append(server)
        give_up = time.monotonic() + order.deadline_s
        for server in servers:
            _wait_listening(server, give_up=give_up)
    servers[0].wait_ready(deadline_s=max(1.0, give_up - time.monotonic()))
    return servers


def _behind_balancer(stack: ExitStack, order: _Order, log: Path) -> list[Server]:
    """The balancer first, for it has the address, and its log is the one that was asked for."""
    servers = [
        stack.enter_context(order.serve_one(_numbered(log, index))) for index in range(1, order.processes + 1)
    ]
    front = start_haproxy(servers, log=log, host=order.host, cpus=order.cpus)
    stack.callback(front.stop)
    front.wait_ready(deadline_s=order.deadline_s)
    return [front, *servers]


def _numbered(log: Path, index: int) -> Path:
    return log if index == 0 else log.with_name(f"{log.stem}~{index}{log.suffix}")


def _reserved(host: str) -> socket.socket:
    """A free port, held by a socket that doesn't listen: nobody else gets it, no connection goes there."""
    holder = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((host, 0))
    return holder


def _wait_listening(server: Server, *, give_up: float) -> None:
    """A handshake would be answered by any of them, so each is looked at."""
    while not _listens(server):
        if (death := server.cause_of_death()) is not None:
            raise death
        if time.monotonic() > give_up:
            raise TargetError(
                f"one of its processes never listened on port {server.port}",
                where=server.target.name,
                hint=f"see {server.log}",
            )
        time.sleep(RETRY_S)


def _listens(server: Server) -> bool:
    with suppress(psutil.Error):
        process = psutil.Process(server.pid)
        for member in (process, *process.children(recursive=True)):
            for connection in member.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == server.port:
                    return True
    return False
