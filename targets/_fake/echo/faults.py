"""What the fake does wrong, as its environment asks for it, and what becomes of an answer by it."""

import os
from dataclasses import dataclass, fields

# What each fails is in tests/verify/test_verify_deviations.py: exactly the cases on that rule.
DEVIATIONS = (
    "version-unchecked",  # any Sec-WebSocket-Version is accepted
    "subprotocol-invented",  # a subprotocol is answered that nobody offered
    "length-border-wrong",  # a payload of 65535 bytes has its length in 64 bits
    "mask-unchecked",  # frames without a mask are taken
    "reserved-bit-accepted",
    "reserved-opcode-accepted",  # they are taken for binary, or passed over
    "fragment-order-lost",  # the last fragment comes first
    "continuation-unchecked",  # it continues what there is, or nothing, and a new message may come inside
    "pong-payload-changed",
    "long-control-accepted",
    "fragmented-control-accepted",
    "invalid-utf8-accepted",
    "close-code-ignored",  # any code is taken, and answered with 1000
    "deflate-parameters-unchecked",  # an offer is accepted whatever its parameters say
    "deflate-window-ignored",  # server_max_window_bits is agreed to and not kept
    "deflate-takeover-kept",  # server_no_context_takeover is agreed to and not kept
)


@dataclass(frozen=True)
class Faults:
    """Each field is a knob, FEEDBENCH_<FIELD>; 0, False or "" means: as it should be.

    "every k" counts messages over all connections, from 1: with k = 3 the third, sixth, ninth … is hit.
    """

    delay_ns: int = 0  # spins so long before each answer
    drop_every: int = 0  # never answers every k-th message
    duplicate_every: int = 0  # answers every k-th message twice
    reorder_every: int = 0  # keeps every k-th answer back until the connection's next one is sent
    lie_every: int = 0  # answers every k-th message with another content of the same length
    die_after: int = 0  # ends, with status 3, instead of answering message n
    mute: bool = False  # answers nothing after the handshake
    handshake: str = ""  # "refuse": status 403; "wrong": a false accept key; "hang": no answer at all
    start: str = ""  # "port-taken": fails as if it were; "unsupported": status 127; "hang": never listens
    ignore_sigterm: bool = False
    deflate: str = "off"  # "on": agrees to permessage-deflate
    deviates: str = ""  # the one rule of RFC 6455 or 7692 that is not kept, one of DEVIATIONS
    noise: bool = (
        False  # writes bytes that aren't text to stdout and stderr, at the start and with each message
    )

    @classmethod
    def from_environment(cls) -> "Faults":
        given = {}
        for field in fields(cls):
            text = os.environ.get(f"FEEDBENCH_{field.name.upper()}")
            if text is None:
                continue
            given[field.name] = text == "true" if field.type is bool else field.type(text)
        return cls(**given)


def lie(payload: bytes) -> bytes:
    """Another payload of the same length (empty: of length 1); text stays text."""
    return payload[:-1] + bytes([payload[-1] ^ 1]) if payload else b"?"


def answers(faults: Faults, number: int, answer: bytes, lied: bytes, held: list[bytes]) -> list[bytes]:
    """What is sent for message `number` (1, 2, 3 …) whose right answer is `answer`.

    `held` is the connection's: an answer kept back waits there for the next one.
    """

    def hits(every: int) -> bool:
        return every > 0 and number % every == 0

    if faults.mute or hits(faults.drop_every):
        return []
    right = lied if hits(faults.lie_every) else answer
    if hits(faults.reorder_every):
        held.append(right)
        return []
    sent = [right, right] if hits(faults.duplicate_every) else [right]
    late, held[:] = held[:], []
    return sent + late
