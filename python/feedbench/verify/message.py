"""What a peer says, whole: a message, a pong or a close."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SHOWN_BYTES = 40
NO_CODE = 1005  # RFC 6455, section 7.1.5: what a close without a code counts as


@dataclass(frozen=True)
class Message:
    """`kind` as in a step."""

    kind: str
    payload: bytes

    @property
    def code(self) -> int:
        """Of a close."""
        return int.from_bytes(self.payload[:2], "big") if len(self.payload) >= 2 else NO_CODE

    def __str__(self) -> str:
        if self.kind == "close":
            return "close without a code" if self.code == NO_CODE else f"close {self.code}"
        if not self.payload:
            return f"empty {self.kind}"
        shown = self.payload[:SHOWN_BYTES]
        text = repr(shown.decode()) if self.kind == "text" and shown.isascii() else shown.hex(" ")
        more = " …" if len(self.payload) > SHOWN_BYTES else ""
        return f"{self.kind} of {len(self.payload)} bytes: {text}{more}"


def difference(found: Message, wanted: Message) -> str:
    """Both; or where they part, when they are long and begin alike."""
    if str(found) != str(wanted):
        return f"{found} instead of {wanted}"
    pairs = zip(found.payload, wanted.payload, strict=True)
    at = next(place for place, (one, other) in enumerate(pairs) if one != other)
    return f"{found}, which is wrong from byte {at} on"


def either_code(codes: Iterable[int]) -> str:
    return "close " + " or ".join(str(code) for code in codes)
