"""Sample file and histogram log of a distribution whose quantiles are known beforehand, written by Rust.

`crates/record/examples/planted.rs` tells how the values are made; `planted_ns` says the same in Python.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent
# Not divisible by the 7919 that scatters the order; enough that p99.99 is not the maximum.
COUNT = 50_000


@dataclass(frozen=True)
class Planted:
    """Where the files are, and what Rust says that they hold."""

    directory: Path
    summary: dict[str, Any]


def planted_ns(rank: int) -> int:
    """The value with this rank, from 1, among COUNT."""
    return 1_000_000 + 7 * rank if rank * 100 > COUNT * 99 else 20_000 + rank


def write(directory: Path) -> Planted:
    """Runs the Rust example; skips the test where there is no cargo."""
    recorded = REPOSITORY / ".feedbench" / "cargo"
    cargo = recorded.read_text().strip() if recorded.exists() else shutil.which("cargo")
    if not cargo:
        pytest.skip("cargo is absent: https://rustup.rs brings it")
    example = ["run", "--quiet", "--package", "feedbench-record", "--example", "planted"]
    command = [cargo, *example, "--", str(directory), str(COUNT)]
    finished = subprocess.run(
        command, cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return Planted(directory=directory, summary=json.loads(finished.stdout))
