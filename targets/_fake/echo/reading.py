"""What the frames of one connection come to: messages, pings and closes, or a failure."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

import wire
from deflate import Decompressor
from wire import INVALID_TEXT, PROTOCOL_ERROR, Frame, PeerError

# RFC 6455, section 7.4.1, with what was registered later.
REGISTERED_CODES = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014}


@dataclass(frozen=True)
class Event:
    """`kind` is the opcode of a message, PING, PONG or CLOSE."""

    kind: int
    payload: bytes


class Reader:
    """Bytes in, events out. `deviates` names one rule that is not kept (faults.py)."""

    def __init__(
        self, *, peer_masks: bool, deviates: str = "", decompressor: Decompressor | None = None
    ) -> None:
        self.peer_masks = peer_masks
        self.deviates = deviates
        self.decompressor = decompressor
        self.received = bytearray()
        self.first: Frame | None = None  # of the message under way
        self.fragments: list[bytes] = []
        self.text = codecs.getincrementaldecoder("utf-8")()

    def feed(self, data: bytes) -> Iterator[Event]:
        self.received += data
        longest_control = (
            wire.LONGEST_PAYLOAD if self.deviates == "long-control-accepted" else wire.LONGEST_CONTROL
        )
        while (parsed := wire.parse(self.received, longest_control=longest_control)) is not None:
            frame, length = parsed
            del self.received[:length]
            self.check(frame)
            if frame.is_control:
                yield Event(frame.opcode, self.control(frame))
            elif (event := self.add(frame)) is not None:
                yield event

    def check(self, frame: Frame) -> None:
        """What no frame may be, whatever came before."""
        if frame.masked != self.peer_masks and self.deviates != "mask-unchecked":
            raise PeerError(PROTOCOL_ERROR)
        compressible = self.decompressor is not None and frame.opcode in (wire.TEXT, wire.BINARY)
        if frame.reserved & ~(wire.RSV1 if compressible else 0) and self.deviates != "reserved-bit-accepted":
            raise PeerError(PROTOCOL_ERROR)
        if frame.opcode not in wire.OPCODES and self.deviates != "reserved-opcode-accepted":
            raise PeerError(PROTOCOL_ERROR)
        if frame.is_control and not frame.final and self.deviates != "fragmented-control-accepted":
            raise PeerError(PROTOCOL_ERROR)

    def control(self, frame: Frame) -> bytes:
        """The payload; of a close it must be a code and a text."""
        body = frame.payload
        if frame.opcode != wire.CLOSE or not body:
            return body
        code = wire.NORMAL if self.deviates == "close-code-ignored" else int.from_bytes(body[:2], "big")
        if len(body) == 1 or not (code in REGISTERED_CODES or 3000 <= code <= 4999):
            raise PeerError(PROTOCOL_ERROR)
        if self.deviates != "invalid-utf8-accepted":
            decode(codecs.getincrementaldecoder("utf-8")(), body[2:], final=True)
        return wire.close_payload(code)

    def add(self, frame: Frame) -> Event | None:
        """The whole message when this was its last frame."""
        if self.deviates == "continuation-unchecked":
            self.first = self.first if self.first is not None and frame.opcode == wire.CONTINUATION else frame
        elif (frame.opcode == wire.CONTINUATION) != (self.first is not None):
            raise PeerError(PROTOCOL_ERROR)
        first = self.first = self.first or frame
        self.fragments.append(frame.payload)
        compressed = self.decompressor is not None and first.reserved & wire.RSV1
        if first.opcode == wire.TEXT and not compressed:
            self.check_text(frame.payload, final=frame.final)
        if not frame.final:
            return None
        if self.deviates == "fragment-order-lost":
            self.fragments.reverse()
        content = b"".join(self.fragments)
        self.first, self.fragments = None, []
        if compressed:
            assert self.decompressor is not None
            content = self.decompressor.decompress(content)
            if first.opcode == wire.TEXT:
                self.check_text(content, final=True)
        return Event(wire.BINARY if first.opcode not in (wire.TEXT, wire.BINARY) else first.opcode, content)

    def check_text(self, part: bytes, *, final: bool) -> None:
        """Fragment by fragment, so that a wrong one ends the connection at once."""
        if self.deviates != "invalid-utf8-accepted":
            decode(self.text, part, final=final)


def decode(decoder: codecs.IncrementalDecoder, part: bytes, *, final: bool) -> None:
    try:
        decoder.decode(part, final)
    except UnicodeDecodeError as error:
        raise PeerError(INVALID_TEXT) from error
