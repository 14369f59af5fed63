"""What the fake does wrong, as its environment asks for it, and what becomes of an answer by it."""

import os
from dataclasses import dataclass, fields


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
