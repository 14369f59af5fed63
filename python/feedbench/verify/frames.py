"""WebSocket frames as a peer that tests needs them: any to send, also wrong ones; right ones to receive.

Parsing is the `websockets` package's, which shares no code with the engine: one checks the other.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Generator

from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Frame
from websockets.streams import StreamReader
from websockets.utils import apply_mask

from feedbench.verify.deflate import Inflater

OPCODES = {"continuation": 0, "text": 1, "binary": 2, "close": 8, "ping": 9, "pong": 10}
LONGEST_PAYLOAD = 1 << 26


# That of the RFC's own examples (section 5.7). A client should draw a new one each time; the suite does not,
# so that a server that reads masks where there are none does the same in every run.
USUAL_MASK = bytes.fromhex("37fa213d")


class WireError(Exception):
    """What came over the wire is no frame that the peer may send; the message says why."""


def opcode_of(kind: str) -> int:
    """`text` → 1; `opcode-3` → 3, for those without a name."""
    return OPCODES[kind] if kind in OPCODES else int(kind.removeprefix("opcode-"))


def encode(
    opcode: int,
    payload: bytes,
    *,
    fin: bool = True,
    reserved: int = 0,
    masked: bool = True,
    mask: bytes | None = None,
) -> bytes:
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
    key = USUAL_MASK if mask is None else mask
    return head + key + apply_mask(payload, key)


class FrameReader:
    """Frames from a socket, one at a time. `masked`: the peer is a client, which must mask."""

    def __init__(
        self,
        connection: socket.socket,
        *,
        already_read: bytes,
        masked: bool = False,
        inflater: Inflater | None = None,
    ) -> None:
        self.connection = connection
        self.masked = masked
        self.extensions = [inflater] if inflater is not None else []
        self.stream = StreamReader()
        self.stream.feed_data(already_read)
        self.at_end = False
        self.head: list[bytes] = []

    def read(self) -> Frame | None:
        """The next frame, None at the end of the connection. TimeoutError as the socket's; WireError."""
        self.head = []
        parser = Frame.parse(
            self._exactly, mask=self.masked, max_size=LONGEST_PAYLOAD, extensions=self.extensions
        )
        try:
            while True:
                frame = _advance(parser)
                if frame is not None:
                    self._refuse_long_length()
                    return frame
                if self.at_end:
                    return None
                self._receive()
        except EOFError:
            return None
        except (ProtocolError, PayloadTooBig) as error:
            raise WireError(f"a wrong frame: {error}") from error

    def is_silent(self, *, for_s: float) -> bool:
        """Whether nothing has come that `read` has not given out, nor comes in that time."""
        return not self.stream.buffer and not select.select([self.connection], [], [], for_s)[0]

    def _exactly(self, count: int) -> Generator[None, None, bytes | bytearray]:
        """The parser's way to bytes; the first ones, which hold the length, are kept."""
        part = yield from self.stream.read_exact(count)
        if len(self.head) < 2:
            self.head.append(bytes(part[:8]))
        return part

    def _refuse_long_length(self) -> None:
        """RFC 6455, section 5.2: the fewest bytes that hold the length. The parser takes any."""
        short = self.head[0][1] & 0x7F
        least = {126: 126, 127: 65536}.get(short)
        if least is not None and (length := int.from_bytes(self.head[1], "big")) < least:
            raise WireError(f"a wrong frame: the length {length} is written in more bytes than it needs")

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
