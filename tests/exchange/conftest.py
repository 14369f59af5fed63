"""An exchange is started on demand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running_exchange import Exchange

from feedbench.paths import Project


@pytest.fixture
def start_exchange(tmp_path: Path) -> Iterator[Callable[..., Exchange]]:
    """Starts exchanges with these arguments; they end with the test."""
    binary = Project.find().exchange
    if not binary.exists():
        pytest.skip("the exchange is not built (make setup)")
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> Exchange:
        ledger = tmp_path / f"{len(running)}.ledger"
        command = [str(binary), "--json", "--no-tls", "--ledger", str(ledger), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout
        return Exchange(process, json.loads(process.stdout.readline())["urls"], ledger)

    yield start
    for process in running:
        process.kill()
        process.communicate()
