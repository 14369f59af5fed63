"""One connection with a target after its handshake, seen from the suite's side of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from websockets.frames import Frame, Opcode

from feedbench.verify.deflate import Agreement, Compressor
from feedbench.verify.frames import FrameReader, WireError, encode, opcode_of
from feedbench.verify.message import Message

# A segment of this size always fits into the socket's buffer.
WRITTEN_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Greeting:
    """What the peer's half of the handshake said; `rest` came after it, frames already."""

    headers: Mapping[str, str]
    agreement: Agreement | None
    rest: bytes


class Peer(Protocol):
    """The target's side, as a server or as a client; it says nothing for at most `timeout_s`."""

    suite_is_client: bool
    timeout_s: float

    def open(self) -> Link:
        """A new connection after its handshake; the peer keeps it to close it."""

    def reopen(self, *, reset: bool) -> Link:
        """Cuts the connection, in the middle of whatever it was at, and opens another."""

    def stop(self) -> None:
        """Ends the target, which must end well; DepartureError when it does not."""

    def conclude(self) -> None:
        """After the target ended its connection: DepartureError when it found anything wrong."""


class Link:
    """Reads whole messages, writes what it is given. Pings are answered as they come."""

    def __init__(self, connection: socket.socket, greeting: Greeting, *, suite_is_client: bool) -> None:
        self.connection = connection
        self.greeting = greeting
        self.suite_is_client = suite_is_client
        agreement = greeting.agreement
        self.compressor: Compressor | None = (
            agreement.compressor(as_server=not suite_is_client) if agreement else None
        )
        self.frames = FrameReader(
            connection,
            already_read=greeting.rest,
            masked=not suite_is_client,
            inflater=agreement.inflater(of_server=suite_is_client) if agreement else None,
        )
        self.fragments: list[Frame] = []
        self.sender: threading.Thread | None = None

    def write(self, content: bytes, *, chunk: int | None = None) -> None:
        """Much of it beside the reading: if both sides only wrote, both would wait for ever, buffers full.

        It never fails: what becomes of the connection shows where its answers are read.
        """
        if self.sender is not None:
            self.sender.join()
        parts = [content[at : at + chunk] for at in range(0, len(content), chunk)] if chunk else [content]
        if len(parts) == 1 and len(content) < WRITTEN_AT_ONCE:
            _send_quietly(self.connection, parts)
            return
        self.sender = threading.Thread(target=_send_quietly, args=(self.connection, parts), daemon=True)
        self.sender.start()

    def read(self) -> Message | None:
        """The next whole message, pong or close; None at the end. The peer's own pings are answered."""
        for frame in iter(self.frames.read, None):
            if frame.opcode is Opcode.PING:
                self.write(encode(opcode_of("pong"), bytes(frame.data), masked=self.suite_is_client))
            elif frame.opcode in (Opcode.PONG, Opcode.CLOSE):
                return Message(frame.opcode.name.lower(), bytes(frame.data))
            elif (message := self._whole(frame)) is not None:
                return message
        return None

    def _whole(self, frame: Frame) -> Message | None:
        if (frame.opcode is Opcode.CONT) != bool(self.fragments):
            raise WireError("a message in another" if self.fragments else "a continuation of nothing")
        self.fragments.append(frame)
        if not frame.fin:
            return None
        kind = self.fragments[0].opcode.name.lower()
        content = b"".join(bytes(fragment.data) for fragment in self.fragments)
        self.fragments = []
        return Message(kind, content)


def _send_quietly(connection: socket.socket, parts: list[bytes]) -> None:
    try:
        for part in parts:
            connection.sendall(part)
    except OSError:
        return
