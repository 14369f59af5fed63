"""A target's server as the other side of a conversation: the suite is its client."""

from __future__ import annotations

import socket
import struct
import time
from http import HTTPStatus
from types import TracebackType

from websockets.utils import accept_key, generate_key

from feedbench.handshake import Answer, read_answer
from feedbench.launch import Server
from feedbench.verify.case import Case
from feedbench.verify.deflate import Agreement, DisagreementError, agree
from feedbench.verify.departure import ConclusionError, DepartureError
from feedbench.verify.link import Greeting, Link

EXTENSIONS = "Sec-WebSocket-Extensions"
# Long enough for a part of a request to arrive by itself.
CHUNK_PAUSE_S = 0.002
# SO_LINGER on, for no time: a close sends RST instead of FIN.
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ServerPeer:
    """One case's connections; leaving the context closes the last of them."""

    suite_is_client = True

    def __init__(self, case: Case, server: Server, *, timeout_s: float) -> None:
        self.case = case
        self.server = server
        self.timeout_s = timeout_s
        self.connection: socket.socket | None = None
        self.beside: list[socket.socket] = []

    def __enter__(self) -> ServerPeer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in (*self.beside, self.connection):
            if connection is not None:
                connection.close()

    def open(self) -> Link:
        key = generate_key()
        head = request_head(self.case, authority=self.server.authority, key=key)
        for _ in range(self.case.half_requests):
            self.beside.append(self.server.connect(timeout_s=self.timeout_s))
            self.beside[-1].sendall(head[: len(head) // 2])
        self.connection = self.server.connect(timeout_s=self.timeout_s)
        chunk = self.case.request_chunk or len(head)
        for at in range(0, len(head), chunk):
            self.connection.sendall(head[at : at + chunk])
            if chunk < len(head):
                time.sleep(CHUNK_PAUSE_S)
        answer = read_answer(self.connection)
        agreement = None
        if self.case.status:
            self._refused(answer)
        else:
            agreement = self._accepted(answer, key)
        greeting = Greeting(headers=answer.headers, agreement=agreement, rest=answer.rest)
        return Link(self.connection, greeting, suite_is_client=True)

    def _refused(self, answer: Answer) -> None:
        if answer.status == HTTPStatus.SWITCHING_PROTOCOLS:
            raise DepartureError("the handshake is accepted")
        if answer.status not in self.case.status:
            wanted = " or ".join(str(status) for status in self.case.status)
            # Refused it is; which status fits is advice.
            raise DepartureError(f"HTTP status {answer.status} instead of {wanted}", level="should")

    def _accepted(self, answer: Answer, key: str) -> Agreement | None:
        """What was agreed; ConclusionError when the handshake was refused, and may be."""
        if answer.status in self.case.may_refuse:
            raise ConclusionError
        if answer.status != HTTPStatus.SWITCHING_PROTOCOLS:
            raise DepartureError(f"HTTP status {answer.status} instead of 101")
        if answer.headers.get("sec-websocket-accept") != accept_key(key):
            raise DepartureError("Sec-WebSocket-Accept does not fit the key")
        offered = ", ".join(self.case.headers.get(EXTENSIONS, ()))
        try:
            return agree(offered, answer.headers.get(EXTENSIONS.lower()))
        except DisagreementError as disagreement:
            raise DepartureError(str(disagreement)) from disagreement

    def reopen(self, *, reset: bool) -> Link:
        assert self.connection is not None
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.connection.close()
        return self.open()

    def stop(self) -> None:
        ending = self.server.stop()
        if ending.killed:
            raise DepartureError(f"it still ran {ending.seconds:.1f} s after SIGTERM and was killed")
        if not ending.clean:
            raise DepartureError(f"after SIGTERM it ended with status {ending.status} instead of 0")

    def conclude(self) -> None:
        """A server finds nothing that it could tell."""


def request_head(case: Case, *, authority: str, key: str) -> bytes:
    """The usual upgrade request, with what the case says in place of the usual headers or beside them."""
    lines = {
        "host": [f"Host: {authority}"],
        "upgrade": ["Upgrade: websocket"],
        "connection": ["Connection: Upgrade"],
        "sec-websocket-version": ["Sec-WebSocket-Version: 13"],
        "sec-websocket-key": [f"Sec-WebSocket-Key: {key}"],
    }
    for name, values in case.headers.items():
        lines[name.lower()] = [f"{name}: {value}" for value in values]
    path = case.path.replace("{authority}", authority)
    head = [f"{case.method} {path} HTTP/{case.http}", *(line for group in lines.values() for line in group)]
    return "\r\n".join([*head, "", ""]).encode()
