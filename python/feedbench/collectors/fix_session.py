"""A FIX 4.2 session without sockets: bytes in, messages out, and what is to be sent back.

The codec is simplefix's, as in the paper; numbers, heartbeats and gaps are ours, by the FIX 4.2
specification's session protocol. Both ends of the echo use it: the initiator logs on, the acceptor answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import simplefix

BEGIN_STRING = "FIX.4.2"

# MsgType (35)
HEARTBEAT, TEST_REQUEST, RESEND_REQUEST, SEQUENCE_RESET, LOGOUT, LOGON = "0", "1", "2", "4", "5", "A"
MARKET_DATA_REQUEST, SNAPSHOT = "V", "W"

Field = tuple[int, str]


class SessionError(Exception):
    """The other end broke the session's rules; the connection has to be closed."""


@dataclass(frozen=True)
class Received:
    """A message in its place: numbered as expected, or an application message that is sent again."""

    kind: str
    fields: simplefix.FixMessage

    def text(self, tag: int) -> str:
        """The field's value; SessionError when it is not there."""
        value = self.fields.get(tag)
        if value is None:
            raise SessionError(f"a message {self.kind} came without the field {tag}")
        return str(value.decode("ascii", "replace"))

    def number(self, tag: int) -> int:
        """The field's value as a number; SessionError when it is none."""
        text = self.text(tag)
        if not text.isdigit():
            raise SessionError(f"field {tag} of a message {self.kind} is {text}, which is no number")
        return int(text)


class FixSession:
    """Both directions of one connection; numbers begin at 1 with it (ResetSeqNumFlag=Y)."""

    def __init__(self, sender: str, target: str, *, heartbeat_s: int = 30) -> None:
        self._sender, self._target = sender, target
        self.heartbeat_s = heartbeat_s
        self._parser = simplefix.FixParser()
        self._next_out = 1
        self._next_in = 1
        self._asked_from: int | None = None
        self.gaps = 0
        self.missed = 0

    def logon(self) -> bytes:
        return self.message(LOGON, [(98, "0"), (108, str(self.heartbeat_s)), (141, "Y")])

    def logout(self) -> bytes:
        return self.message(LOGOUT, [])

    def message(self, kind: str, fields: Sequence[Field]) -> bytes:
        """The next message to send, with header, number, length and check sum."""
        number = self._next_out
        self._next_out += 1
        return self._encoded(kind, number, fields)

    def skip(self, count: int) -> None:
        """Leaves numbers out, as if messages had been lost: for showing what the other end does then."""
        self._next_out += count

    def receive(self, data: bytes) -> tuple[list[Received], bytes]:
        """Messages in their places, and bytes to send back.

        SessionError when a message can't be read or its number is too low. What comes after a gap is left
        out: it will be sent again, as the ResendRequest asks.
        """
        self._parser.append_buffer(data)
        messages: list[Received] = []
        answers = b""
        while (parsed := self._parser.get_message()) is not None:
            _check(parsed)
            message = Received(_decoded(parsed, 35), parsed)
            accepted, answer = self._place(message)
            answers += answer
            if accepted:
                messages.append(message)
        return messages, answers

    def _place(self, message: Received) -> tuple[bool, bytes]:
        number = message.number(34)
        resent = message.fields.get(43) == b"Y"
        if message.kind == SEQUENCE_RESET and message.fields.get(123) != b"Y":
            # A reset counts whatever its own number is.
            self._next_in, self._asked_from = message.number(36), None
            return False, b""
        if number > self._next_in:
            return False, self._gap(number)
        if number < self._next_in:
            if resent:
                return False, b""
            raise SessionError(f"MsgSeqNum {number} is too low, {self._next_in} was expected")
        self._next_in, self._asked_from = number + 1, None
        return True, self._answered(message)

    def _gap(self, number: int) -> bytes:
        """Asks for what is missing, once for each gap."""
        if self._asked_from == self._next_in:
            return b""
        self._asked_from = self._next_in
        self.gaps += 1
        self.missed += number - self._next_in
        return self.message(RESEND_REQUEST, [(7, str(self._next_in)), (16, "0")])

    def _answered(self, message: Received) -> bytes:
        if message.kind == TEST_REQUEST:
            return self.message(HEARTBEAT, [(112, message.text(112))])
        if message.kind == RESEND_REQUEST:
            return self._filled(message.number(7))
        if message.kind == SEQUENCE_RESET:
            self._next_in = message.number(36)
        return b""

    def _filled(self, first: int) -> bytes:
        """A gap fill over everything from `first`: market data of the past is not worth sending again."""
        fields = [(43, "Y"), (123, "Y"), (36, str(self._next_out))]
        return self._encoded(SEQUENCE_RESET, first, fields)

    def _encoded(self, kind: str, number: int, fields: Sequence[Field]) -> bytes:
        message = simplefix.FixMessage()
        message.append_pair(8, BEGIN_STRING, header=True)
        message.append_pair(35, kind, header=True)
        message.append_pair(49, self._sender, header=True)
        message.append_pair(56, self._target, header=True)
        message.append_pair(34, number, header=True)
        message.append_utc_timestamp(52, header=True)
        for tag, value in fields:
            message.append_pair(tag, value)
        return bytes(message.encode())


def _decoded(message: simplefix.FixMessage, tag: int) -> str:
    value = message.get(tag)
    if value is None:
        raise SessionError(f"a message came without the field {tag}")
    return str(value.decode("ascii", "replace"))


def _check(message: simplefix.FixMessage) -> None:
    """simplefix parses and does not judge: BodyLength and CheckSum are checked here."""
    raw = bytes(message.encode(raw=True))
    body = raw[raw.index(b"\x01", raw.index(b"\x019=") + 1) + 1 : raw.rindex(b"\x0110=") + 1]
    total = sum(raw[: raw.rindex(b"\x0110=") + 1]) % 256
    if message.get(9) != str(len(body)).encode():
        raise SessionError(f"BodyLength is {_decoded(message, 9)}, and the body has {len(body)} bytes")
    if message.get(10) != f"{total:03}".encode():
        raise SessionError(f"CheckSum is {_decoded(message, 10)}, and the message adds up to {total:03}")
