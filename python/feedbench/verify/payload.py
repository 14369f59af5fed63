"""The bytes that a step tells of."""

from __future__ import annotations

import random
import string
import struct

from feedbench.verify.case import Step

TEXT_ALPHABET = string.ascii_letters.encode()


def payload(step: Step, number: int = 0) -> bytes:
    """By the first of these keys that the step has; `number` counts its repetitions.

    `text`, `hex` and `size` (a pattern); `zeros`, which shrink a thousandfold; `far`, so many random bytes
    and then the same again, which only a window of that length can compress; a close `code`, with a `reason`.
    """
    text = step.get("send", step.get("receive")) == "text"
    if "text" in step:
        return str(step["text"]).encode()
    if "hex" in step:
        return bytes.fromhex(step["hex"])
    if "size" in step:
        return _filled(step["size"], text=text)
    if "zeros" in step:
        return (b"0" if text else b"\0") * int(step["zeros"])
    if "far" in step:
        return _random(step["far"], text=text) * 2
    if "code" in step:
        return struct.pack("!H", step["code"]) + str(step.get("reason", "")).encode()
    return str(number).encode()


def _filled(size: int, *, text: bool) -> bytes:
    """Printable characters for text, every byte for binary; the period is odd so that a lost block shows."""
    pattern = bytes(range(0x21, 0x7E)) if text else bytes(range(251))
    return (pattern * (size // len(pattern) + 1))[:size]


def _random(size: int, *, text: bool) -> bytes:
    source = random.Random(size)
    return bytes(source.choices(TEXT_ALPHABET, k=size)) if text else source.randbytes(size)
