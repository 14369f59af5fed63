"""Which CPU is whose: the targets' on one, the engine's on another, so that neither waits for the other."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Pinning:
    """The CPUs of the targets and of the engine; empty tuples mean that the kernel chooses."""

    targets: tuple[int, ...]
    engine: tuple[int, ...]
    advice: str | None = None

    @property
    def engine_cpu(self) -> int | None:
        """The one CPU that the engine's loop runs on, if it is pinned."""
        return self.engine[0] if self.engine else None

    def document(self) -> dict[str, list[int]]:
        """As it stands in environment-<round>.json."""
        return {"targets": list(self.targets), "engine": list(self.engine)}


def choose_pinning(allowed: set[int] | None = None, *, wanted: bool = True) -> Pinning:
    """Targets on the first CPU that this process may use, the engine on the second.

    Targets stay on one CPU even where more are free: "one thread where the library leaves the choice" is then
    the same for all, and a migration costs nobody a cold cache.
    """
    cpus = sorted(allowed if allowed is not None else os.sched_getaffinity(0))
    if not wanted:
        return Pinning(targets=(), engine=(), advice="nothing is pinned: the scenario says pin = false")
    if len(cpus) == 1:
        return Pinning(
            targets=(cpus[0],),
            engine=(cpus[0],),
            advice=f"one CPU ({cpus[0]}) for target and engine: each message waits for a context switch, "
            "so compare these latencies only with others that were made so",
        )
    return Pinning(targets=(cpus[0],), engine=(cpus[1],))
