"""The client's side of RFC 6455's opening handshake, over a blocking socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from websockets.utils import accept_key, generate_key

LONGEST_HEAD = 65536


class HandshakeError(Exception):
    """The server did not answer as RFC 6455, section 4.2.2, wants; the message says how."""


@dataclass(frozen=True)
class Answer:
    """The server's answer: header names in small letters; `rest` came after the head, frames already."""

    status: int
    headers: Mapping[str, str]
    rest: bytes


def open_websocket(connection: socket.socket, *, path: str, host: str) -> Answer:
    """Sends a right request and returns the answer that accepts it; HandshakeError when it does not."""
    key = generate_key()
    answer = exchange(connection, request(path=path, host=host, headers={"Sec-WebSocket-Key": key}))
    if answer.status != 101:
        raise HandshakeError(f"HTTP status {answer.status} instead of 101")
    if answer.headers.get("upgrade", "").lower() != "websocket":
        raise HandshakeError("the answer lacks Upgrade: websocket")
    if "upgrade" not in answer.headers.get("connection", "").lower():
        raise HandshakeError("the answer lacks Connection: Upgrade")
    if answer.headers.get("sec-websocket-accept") != accept_key(key):
        raise HandshakeError("Sec-WebSocket-Accept does not fit the key")
    return answer


def request(*, path: str, host: str, headers: Mapping[str, str | None]) -> bytes:
    """An upgrade request; a header given as None is left out of the usual ones."""
    usual: dict[str, str | None] = {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
    }
    lines = [f"{name}: {value}" for name, value in {**usual, **headers}.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode()


def exchange(connection: socket.socket, request_head: bytes) -> Answer:
    """Sends `request_head`; the answer's head, with what came along. HandshakeError when there is none."""
    connection.sendall(request_head)
    return read_answer(connection)


def read_answer(connection: socket.socket) -> Answer:
    """The answer's head, with what came along; HandshakeError when it is none."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            raise HandshakeError("the connection was closed before an answer came")
        received += part
        if len(received) > LONGEST_HEAD:
            raise HandshakeError(f"the answer's head is longer than {LONGEST_HEAD} bytes")
    head, _, rest = received.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    version, _, status = status_line.partition(" ")
    if not version.startswith("HTTP/1.") or not status[:3].isdigit():
        raise HandshakeError(f"the answer begins with {status_line[:40]!r}")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Answer(status=int(status[:3]), headers=headers, rest=rest)
