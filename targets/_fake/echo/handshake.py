"""The opening handshake of RFC 6455, section 4, without sockets, for a server and for a client."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
VERSION = "13"
KEY_BYTES = 16


@dataclass(frozen=True)
class Head:
    """Of a request or an answer: what its first line says, and its headers, names in small letters."""

    first: tuple[str, str, str]
    headers: dict[str, list[str]]

    def value(self, name: str) -> str | None:
        """A header in several lines is one list."""
        return ", ".join(self.headers[name]) if name in self.headers else None

    def tokens(self, name: str) -> set[str]:
        return {token.strip().lower() for token in (self.value(name) or "").split(",")}


def read_head(received: bytes) -> Head:
    first, *lines = received.decode("latin-1").split("\r\n")
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().lower(), []).append(value.strip())
    method, target, version = [*first.split(" ", 2), "", ""][:3]
    return Head((method, target, version), headers)


def path_of(request: Head) -> str:
    """Without the query; the target may be a whole URI."""
    target = request.first[1]
    if "://" in target:
        target = "/" + target.split("://", 1)[1].partition("/")[2]
    return target.partition("?")[0]


def complaint(request: Head, *, any_version: bool = False) -> str | None:
    """The status that a request is refused with, None when it is a right one (section 4.2.1)."""
    method, _, version = request.first
    if method != "GET":
        return "405 Method Not Allowed"
    if version != "HTTP/1.1" or "host" not in request.headers:
        return "400 Bad Request"
    if "websocket" not in request.tokens("upgrade") or "upgrade" not in request.tokens("connection"):
        return "426 Upgrade Required"
    if request.value("sec-websocket-version") != VERSION and not any_version:
        return "426 Upgrade Required"
    return None if is_key(request.value("sec-websocket-key") or "") else "400 Bad Request"


def is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == KEY_BYTES
    except binascii.Error:
        return False


def accept_key(key: str) -> str:
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def accepting(key: str, *, extensions: str | None = None, subprotocol: str | None = None) -> bytes:
    """The response that opens the WebSocket."""
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept_key(key)}",
    ]
    if extensions is not None:
        lines.append(f"Sec-WebSocket-Extensions: {extensions}")
    if subprotocol is not None:
        lines.append(f"Sec-WebSocket-Protocol: {subprotocol}")
    return "\r\n".join([*lines, "", ""]).encode()


def refusing(status: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Connection: close",
        f"Sec-WebSocket-Version: {VERSION}",
        "Content-Length: 0",
    ]
    return "\r\n".join([*lines, "", ""]).encode()
