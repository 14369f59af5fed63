"""Coroutines run on asyncio (anyio's plugin comes with httpx); a simulated exchange is started on demand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from simulated_exchange import StartExchange, running

from feedbench.paths import Project


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def start_exchange(tmp_path: Path) -> Iterator[StartExchange]:
    """Starts exchanges with the arguments given; all are gone after the test."""
    binary = Project.find().exchange
    if not binary.exists():
        pytest.skip("the exchange is not built (make setup)")
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(running(binary, tmp_path, arguments))
