"""WebSocket frames as a client that tests needs them: any to send, also wrong ones; right ones to receive.

Parsing is the `websockets` package's, which shares no code with the engine: one checks the other.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Generator

from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Frame
from websockets.streams import StreamReader
from websockets.utils import apply_mask

OPCODES = {"continuation": 0, "text": 1, "binary": 2, "close": 8, "ping": 9, "pong": 10}
LONGEST_PAYLOAD = 1 << 26


class WireError(Exception):
    """What came over the wire is no frame that a server may send; the message says why."""


def opcode_of(kind: str) -> int:
    """`text` → 1; `opcode-3` → 3, for those without a name."""
    return OPCODES[kind] if kind in OPCODES else int(kind.removeprefix("opcode-"))


def encode(opcode: int, payload: bytes, *, fin: bool = True, reserved: int = 0, masked: bool = True) -> bytes:
    """One frame, RFC 6455, section 5.2. `reserved` holds RSV1 to RSV3 as 4, 2 and 1. Nothing is checked."""
    first = (0x80 if fin else 0) | reserved << 4 | opcode
    mask_bit = 0x80 if masked else 0
    if len(payload) < 126:
        head = struct.pack("!BB", first, mask_bit | len(payload))
    elif len(payload) < 65536:
        head = struct.pack("!BBH", first, mask_bit | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, mask_bit | 127, len(payload))
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + apply_mask(payload, key)


class FrameReader:
    """Frames from a socket, one at a time."""

    def __init__(self, connection: socket.socket, *, already_read: bytes) -> None:
        self.connection = connection
        self.stream = StreamReader()
        self.stream.feed_data(already_read)
        self.at_end = False

    def read(self) -> Frame | None:
        """The next frame, None at the end of the connection. TimeoutError as the socket's; WireError."""
        parser = Frame.parse(self.stream.read_exact, mask=False, max_size=LONGEST_PAYLOAD)
        try:
            while True:
                frame = _advance(parser)
                if frame is not None:
                    return frame
                if self.at_end:
                    return None
                self._receive()
        except EOFError:
            return None
        except (ProtocolError, PayloadTooBig) as error:
            raise WireError(str(error)) from error

    def _receive(self) -> None:
        try:
            part = self.connection.recv(1 << 16)
        except ConnectionError:
            # A reset ends the connection as surely as a FIN does.
            part = b""
        if part:
            self.stream.feed_data(part)
        else:
            self.at_end = True
            self.stream.feed_eof()


def _advance(parser: Generator[None, None, Frame]) -> Frame | None:
    """A frame if the parser has enough, None when it wants more."""
    try:
        next(parser)
    except StopIteration as done:
        frame: Frame = done.value
        return frame
    return None
