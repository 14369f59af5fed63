"""FIX messages as lists of fields, from and to bytes; independent of the codec that is judged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

SOH = b"\x01"
Field = tuple[int, str]


def checksum(data: bytes) -> str:
    """The three digits of field 10."""
    return f"{sum(data) % 256:03}"


def timestamp(precision: int, *, ago: timedelta = timedelta()) -> str:
    """UTC now, or so long ago, with 0, 3 or 6 decimals of the second."""
    moment = datetime.now(UTC) - ago
    whole = moment.strftime("%Y%m%d-%H:%M:%S")
    return f"{whole}.{moment.microsecond:06}"[: len(whole) + 1 + precision] if precision else whole


def encode(fields: Sequence[Field], *, length_error: int = 0, sum_text: str | None = None) -> bytes:
    """The message, whose first field is 8; 9 and 10 are worked out, wrong if that is asked for."""
    body = _joined(fields[1:])
    head = _joined(fields[:1]) + f"9={len(body) + length_error}".encode() + SOH
    whole = head + body
    return whole + f"10={sum_text or checksum(whole)}".encode() + SOH


def _joined(fields: Sequence[Field]) -> bytes:
    return b"".join(f"{tag}={value}".encode() + SOH for tag, value in fields)


def split(buffer: bytes) -> tuple[bytes, bytes] | None:
    """The first message and the rest; None while it is not whole. Goes by BodyLength alone."""
    head = buffer.split(SOH, 2)
    if len(head) < 3:
        return None
    end = len(head[0]) + len(head[1]) + 2 + int(head[1].removeprefix(b"9=")) + len("10=000") + 1
    return (buffer[:end], buffer[end:]) if len(buffer) >= end else None


def decode(message: bytes) -> list[Field]:
    """All fields in order; ValueError if the frame is not sound."""
    if not message.endswith(SOH):
        raise ValueError("the last byte is no separator")
    fields: list[Field] = []
    for part in message[:-1].split(SOH):
        tag, found, value = part.decode().partition("=")
        if not found or not tag.isdigit():
            raise ValueError(f"{part!r} is no field")
        fields.append((int(tag), value))
    summed = checksum(message[: message.rindex(b"10=")])
    if [tag for tag, _ in fields[:3]] != [8, 9, 35] or fields[-1] != (10, summed):
        raise ValueError(f"the frame is wrong; CheckSum should be {summed}")
    return fields


def shown(fields: Sequence[Field]) -> str:
    """For people, with bars between the fields."""
    return "|".join(f"{tag}={value}" for tag, value in fields)
