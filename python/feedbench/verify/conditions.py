"""How an examination is done; the defaults suit any machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from feedbench.paths import Project

# One timeout is for a machine with time to spare. What timed out is tried once more, with PATIENCE times as
# much, when the rest is done: then silence is the target's.
TIMEOUT_S = 3.0
PATIENCE = 4.0
READY_DEADLINE_S = 30.0
AT_ONCE = 16


@dataclass(frozen=True)
class Conditions:
    """`at_once` connections are open to one target; what it prints goes to `log`."""

    project: Project
    log: Path
    timeout_s: float = TIMEOUT_S
    ready_deadline_s: float = READY_DEADLINE_S
    at_once: int = AT_ONCE

    @property
    def last_timeout_s(self) -> float:
        return self.timeout_s * PATIENCE
