"""RFC 6455 as a server needs it, without sockets: the handshake's answer, frames in, frames out."""

import base64
import hashlib
import struct
from dataclasses import dataclass

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

CONTINUATION, TEXT, BINARY = 0x0, 0x1, 0x2
CLOSE, PING, PONG = 0x8, 0x9, 0xA


@dataclass(frozen=True)
class Frame:
    final: bool
    opcode: int
    payload: bytes


def request_head(received: bytes) -> tuple[str, dict[str, str]]:
    """The path and the header fields (names in small letters) of a whole request."""
    request_line, *lines = received.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines)
    return request_line.split(" ")[1], {name.strip().lower(): value.strip() for name, _, value in fields}


def accepting(key: str) -> bytes:
    """The response that opens the WebSocket."""
    accept = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


def refusing(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()


def parse(received: bytes) -> tuple[Frame, int] | None:
    """The first frame and how many bytes it took; None when it isn't whole yet. Its mask is taken off."""
    if len(received) < 2:
        return None
    short_length = received[1] & 0x7F
    width = {126: 2, 127: 8}.get(short_length, 0)
    payload_at = 2 + width + 4
    if len(received) < payload_at:
        return None
    length = int.from_bytes(received[2 : 2 + width], "big") if width else short_length
    if len(received) < payload_at + length:
        return None
    mask = received[payload_at - 4 : payload_at]
    masked = received[payload_at : payload_at + length]
    frame = Frame(bool(received[0] & 0x80), received[0] & 0x0F, unmask(masked, mask))
    return frame, payload_at + length


def unmask(masked: bytes, mask: bytes) -> bytes:
    """One exclusive-or of two large numbers: much faster than byte by byte."""
    repeated = (mask * (len(masked) // 4 + 1))[: len(masked)]
    number = int.from_bytes(masked, "little") ^ int.from_bytes(repeated, "little")
    return number.to_bytes(len(masked), "little")


def frame_bytes(opcode: int, payload: bytes) -> bytes:
    """An unmasked, final frame."""
    if len(payload) < 126:
        head = struct.pack("!BB", 0x80 | opcode, len(payload))
    elif len(payload) < 1 << 16:
        head = struct.pack("!BBH", 0x80 | opcode, 126, len(payload))
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 127, len(payload))
    return head + payload
