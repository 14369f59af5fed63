"""A target's client as the other side of a conversation: the suite is its server.

An echo client (`[run.echo_client]`, spec/README.md) sends the case's message and compares each answer with
it, so it tells whether it took what it was sent for what it was. A feed client is asked for its record
(feed_peer.py).
"""

from __future__ import annotations

import base64
import binascii
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

from websockets.utils import accept_key

from feedbench.commands import environment, fill
from feedbench.errors import RunDirectoryError, TargetError
from feedbench.handshake import LONGEST_HEAD, HandshakeError
from feedbench.host.process import end_process, own_preparation
from feedbench.launch import UNSUPPORTED_STATUS, UnsupportedError, log_tail
from feedbench.paths import Project, read_json
from feedbench.target import Target
from feedbench.verify.case import Case
from feedbench.verify.deflate import Agreement, DisagreementError, agree
from feedbench.verify.departure import DepartureError
from feedbench.verify.link import Greeting, Link
from feedbench.verify.payload import payload
from feedbench.verify.server_peer import EXTENSIONS

KEY_BYTES = 16
POLL_S = 0.05
PAYLOAD, SAMPLES, SUMMARY, LOG = "payload", "samples.fbs", "summary.json", "log"


class ClientPeer(ABC):
    """One case's client: started when the conversation begins, killed when the context is left.

    `connect_timeout_s` is how long it may take to start, `timeout_s` how long to wait for its next word.
    """

    suite_is_client = False

    def __init__(
        self,
        case: Case,
        target: Target,
        *,
        project: Project,
        folder: Path,
        connect_timeout_s: float,
        timeout_s: float,
    ) -> None:
        self.case = case
        self.target = target
        self.project = project
        self.folder = folder
        self.connect_timeout_s = connect_timeout_s
        self.timeout_s = timeout_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connection: socket.socket | None = None
        try:
            self.process = self._start()
        except BaseException:
            self.listener.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.listener.close()
        if self.connection is not None:
            self.connection.close()
        end_process(self.process, first=signal.SIGKILL, grace_s=self.timeout_s)

    @abstractmethod
    def _start(self) -> subprocess.Popen[bytes]:
        """Starts the client, which is to connect to `listener`; TargetError when it can't be."""

    @abstractmethod
    def reopen(self, *, reset: bool) -> Link:
        """Cuts the connection."""

    @abstractmethod
    def stop(self) -> None:
        """Asks the client to end."""

    def conclude(self) -> None:
        raise DepartureError("it has nothing to say of what it was sent")

    def open(self) -> Link:
        accepted = self._accept()
        accepted.settimeout(self.timeout_s)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = self._secured(accepted)
        target, headers, rest = read_request(self.connection)
        if target != self.case.path:
            raise DepartureError(f"it asks for {target!r} instead of {self.case.path!r}")
        key = headers.get("sec-websocket-key", "")
        agreement = self._agreement(headers)
        self.connection.sendall(answer_head(self.case, key=key))
        if self.case.answer == HTTPStatus.SWITCHING_PROTOCOLS and not _is_key(key):
            raise DepartureError(f"the Sec-WebSocket-Key {key!r} is no {KEY_BYTES} bytes in base64")
        greeting = Greeting(headers=headers, agreement=agreement, rest=rest)
        return Link(self.connection, greeting, suite_is_client=False)

    def _accept(self) -> socket.socket:
        """In short waits, since a client that cannot start would never connect."""
        give_up = time.monotonic() + self.connect_timeout_s
        self.listener.settimeout(POLL_S)
        while True:
            try:
                return self.listener.accept()[0]
            except TimeoutError:
                status = self.process.poll()
                if status == UNSUPPORTED_STATUS:
                    raise UnsupportedError("it does not support this", where=self.target.name) from None
                if status is not None:
                    raise TargetError(
                        f"the client ended with status {status} before it connected",
                        where=self.target.name,
                        hint=log_tail(self.folder / LOG) or "it said nothing",
                    ) from None
                if time.monotonic() > give_up:
                    raise

    def _agreement(self, headers: Mapping[str, str]) -> Agreement | None:
        """What the client's offer and the case's answer come to: nothing when the answer is meant wrong."""
        answered = ", ".join(self.case.headers.get(EXTENSIONS, ()))
        try:
            return agree(headers.get(EXTENSIONS.lower(), ""), answered) if answered else None
        except DisagreementError:
            return None

    def _secured(self, connection: socket.socket) -> socket.socket:
        """The connection as it is, or with TLS."""
        return connection


class EchoClientPeer(ClientPeer):
    """Its echo client, told to go on for `duration_s`."""

    def __init__(
        self,
        case: Case,
        target: Target,
        *,
        project: Project,
        folder: Path,
        connect_timeout_s: float,
        timeout_s: float,
        duration_s: float,
    ) -> None:
        self.duration_s = duration_s
        super().__init__(
            case,
            target,
            project=project,
            folder=folder,
            connect_timeout_s=connect_timeout_s,
            timeout_s=timeout_s,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        url = f"ws://127.0.0.1:{self.listener.getsockname()[1]}{self.case.path}"
        command = echo_client_command(self.target, self.case, url, self.folder, self.duration_s, self.project)
        with (self.folder / LOG).open("wb") as output:
            return subprocess.Popen(
                command,
                cwd=self.target.folder,
                env=environment(self.case.knobs),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=own_preparation(),
            )

    def reopen(self, *, reset: bool) -> Link:
        raise DepartureError("an echo client connects once")

    def stop(self) -> None:
        end_process(self.process, first=signal.SIGTERM, grace_s=self.timeout_s)

    def conclude(self) -> None:
        try:
            status = self.process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        if status != 0:
            said = log_tail(self.folder / LOG)
            raise DepartureError(f"the client ended with status {status}: {said or 'it said nothing'}")
        try:
            summary = read_json(self.folder / SUMMARY, needed_for="know what the client found wrong")
        except RunDirectoryError as error:
            raise DepartureError(f"the client left no summary ({error})") from error
        if summary.get("wrong") != 0:
            raise DepartureError(f"the client found {summary.get('wrong')} answers wrong that were right")


def echo_client_command(
    target: Target, case: Case, url: str, folder: Path, duration_s: float, project: Project
) -> list[str]:
    """spec/README.md, Echo client: one connection that sends the case's message again and again."""
    if target.echo_client_command is None:
        raise UnsupportedError("it has no client to start", where=target.name)
    (folder / PAYLOAD).write_bytes(payload(case.message))
    return [
        *fill(target.echo_client_command, target=target, project=project),
        *("--url", url, "--connections", "1", "--duration-ns", str(int(duration_s * 1e9))),
        *("--payload-file", str(folder / PAYLOAD)),
        *("--samples", str(folder / SAMPLES), "--summary", str(folder / SUMMARY)),
        *(["--binary"] if case.message["send"] == "binary" else []),
    ]


def read_request(connection: socket.socket) -> tuple[str, dict[str, str], bytes]:
    """The target of the client's request, its headers, names in small letters, and what came after it.

    HandshakeError when it is none that RFC 6455, section 4.1, knows.
    """
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            raise HandshakeError("the connection was closed before a request came")
        received += part
        if len(received) > LONGEST_HEAD:
            raise HandshakeError(f"the request's head is longer than {LONGEST_HEAD} bytes")
    head, _, rest = received.partition(b"\r\n\r\n")
    request_line, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest_of_line = request_line.partition(" ")
    target, _, version = rest_of_line.rpartition(" ")
    if method != "GET" or version != "HTTP/1.1":
        raise HandshakeError(f"the request begins with {request_line[:40]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name = name.strip().lower()
        # A header in several lines is one list (RFC 9110, section 5.3).
        headers[name] = ", ".join(filter(None, [headers.get(name), value.strip()]))
    return target, headers, rest


def answer_head(case: Case, *, key: str) -> bytes:
    """The usual accepting answer, with what the case says in place of the usual headers or beside them."""
    lines = {
        "upgrade": ["Upgrade: websocket"],
        "connection": ["Connection: Upgrade"],
        "sec-websocket-accept": [f"Sec-WebSocket-Accept: {accept_key(key)}"],
    }
    for name, values in case.headers.items():
        lines[name.lower()] = [f"{name}: {value}" for value in values]
    status = f"HTTP/{case.http} {case.answer} {HTTPStatus(case.answer).phrase}"
    return "\r\n".join([status, *(line for group in lines.values() for line in group), "", ""]).encode()


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == KEY_BYTES
    except binascii.Error:
        return False
