"""What a user needs: a load, a limit, and what may be spent on it."""

from __future__ import annotations

from dataclasses import dataclass

DOORS = ("ws", "wss", "rest", "fix")


@dataclass(frozen=True)
class Need:
    """`streams` are connections that stand at once, `rate_per_s` messages over all of them. None: no limit.

    `languages` are folders of targets/ (none: any). `loss_share` (0…1) of the messages may be lost.

    `payload`: as a scenario writes it; None where the runs sent only one. `closed_loops`: whether a p99 from
    a closed loop counts as one within the limit. Such a loop waits while the server stalls, so it can't see
    what a stall does to messages that keep coming.
    """

    streams: int
    rate_per_s: float
    p99_ns: int
    languages: tuple[str, ...] = ()
    doors: tuple[str, ...] = ("ws",)
    deflate: bool = False
    cores: float | None = None
    memory_bytes: int | None = None
    loss_share: float = 0.0
    closed_loops: bool = False
    payload: str | None = None
