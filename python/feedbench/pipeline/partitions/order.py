"""What is asked of a crew: how many workers or which scheduler, and how much memory each may take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# Python with its libraries, and what DuckDB takes beyond the limit that it is given.
BASE_BYTES, DUCKDB_SHARE = 300_000_000, 0.6
LEAST_BYTES = 500_000_000
# For a worker to come (back): a process that starts on a busy machine takes its time.
PATIENCE_S = 600.0


@dataclass(frozen=True)
class CrewOrder:
    """`workers` processes here, or those of the scheduler at `cluster`. `memory_limit_bytes` is what each may
    take: a process here that takes more is ended; 0 is no limit.
    """

    workers: int = 1
    memory_limit_bytes: int = 0
    cluster: str | None = None
    tls: Path | None = None
    patience_s: float = PATIENCE_S

    def duckdb_bytes(self) -> int:
        """What DuckDB may take in each; 0 where it is not limited."""
        return int((self.memory_limit_bytes - BASE_BYTES) * DUCKDB_SHARE) if self.memory_limit_bytes else 0
