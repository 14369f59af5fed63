"""RFC 6455's frames without sockets: bytes in, frames out, and back."""

import struct
from dataclasses import dataclass

CONTINUATION, TEXT, BINARY = 0x0, 0x1, 0x2
CLOSE, PING, PONG = 0x8, 0x9, 0xA
OPCODES = {CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG}

NORMAL, PROTOCOL_ERROR, INVALID_TEXT, TOO_BIG = 1000, 1002, 1007, 1009
LONGEST_CONTROL = 125
LONGEST_PAYLOAD = 1 << 26
RSV1 = 4


class PeerError(Exception):
    """The peer broke the protocol: the connection ends with this close code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"close {code}")
        self.code = code


@dataclass(frozen=True)
class Frame:
    final: bool
    opcode: int
    payload: bytes
    reserved: int = 0
    masked: bool = True

    @property
    def is_control(self) -> bool:
        return self.opcode >= CLOSE


def parse(received: bytes, *, longest_control: int = LONGEST_CONTROL) -> tuple[Frame, int] | None:
    """The first frame and how many bytes it took; None when it isn't whole yet. A mask is taken off.

    PeerError as soon as its length is one that no frame may have.
    """
    if len(received) < 2:
        return None
    short_length = received[1] & 0x7F
    width = {126: 2, 127: 8}.get(short_length, 0)
    masked = bool(received[1] & 0x80)
    payload_at = 2 + width + (4 if masked else 0)
    if len(received) < payload_at:
        return None
    length = int.from_bytes(received[2 : 2 + width], "big") if width else short_length
    opcode = received[0] & 0x0F
    if opcode >= CLOSE and length > longest_control:
        raise PeerError(PROTOCOL_ERROR)
    if length >> 63:
        raise PeerError(PROTOCOL_ERROR)
    if length > LONGEST_PAYLOAD:
        raise PeerError(TOO_BIG)
    if len(received) < payload_at + length:
        return None
    content = bytes(received[payload_at : payload_at + length])
    if masked:
        content = unmask(content, bytes(received[payload_at - 4 : payload_at]))
    frame = Frame(bool(received[0] & 0x80), opcode, content, received[0] >> 4 & 7, masked)
    return frame, payload_at + length


def unmask(masked: bytes, mask: bytes) -> bytes:
    """One exclusive-or of two large numbers: much faster than byte by byte."""
    repeated = (mask * (len(masked) // 4 + 1))[: len(masked)]
    number = int.from_bytes(masked, "little") ^ int.from_bytes(repeated, "little")
    return number.to_bytes(len(masked), "little")


def frame_bytes(
    opcode: int, payload: bytes, *, reserved: int = 0, mask: bytes | None = None, longest_16: int = 0xFFFF
) -> bytes:
    """A final frame. `longest_16` is the longest payload whose length is written in 16 bits."""
    first = 0x80 | reserved << 4 | opcode
    mask_bit = 0 if mask is None else 0x80
    if len(payload) < 126:
        head = struct.pack("!BB", first, mask_bit | len(payload))
    elif len(payload) <= longest_16:
        head = struct.pack("!BBH", first, mask_bit | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, mask_bit | 127, len(payload))
    return head + payload if mask is None else head + mask + unmask(payload, mask)


def close_payload(code: int) -> bytes:
    return code.to_bytes(2, "big")
