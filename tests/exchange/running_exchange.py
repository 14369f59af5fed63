"""An exchange that runs beside a test."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.feed.ledger import Ledger, read_ledger


@dataclass(frozen=True)
class Exchange:
    """A running exchange, without TLS and with a ledger."""

    process: subprocess.Popen[str]
    urls: dict[str, dict[str, str]]
    ledger: Path

    def end(self) -> tuple[dict[str, Any], Ledger]:
        """Its totals and its ledger; it ends by a limit or is told to."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        totals: dict[str, Any] = json.loads(said.splitlines()[-1])["totals"]
        return totals, read_ledger(self.ledger)
