"""Builds each target once for these tests, in its usual place, and starts its servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from target_serving import PROJECT, REGISTRY, Start, build

from feedbench.launch import Server, serve
from feedbench.target import Target


@pytest.fixture(scope="session")
def built() -> Callable[[str], Target]:
    """Builds a target at its first use and hands it over."""
    done: dict[str, Target] = {}

    def build_once(name: str) -> Target:
        if name not in done:
            target = REGISTRY.get(name)
            build(target)
            done[name] = target
        return done[name]

    return build_once


@pytest.fixture
def start(built: Callable[[str], Target], tmp_path: Path) -> Iterator[Start]:
    """Starts a server of its own for one test: `start("node/ws", {"delay_ns": "5000"})`."""
    with ExitStack() as stack:

        def start_server(name: str, knobs: Mapping[str, str] | None = None, **options: object) -> Server:
            log = tmp_path / f"{len(list(tmp_path.glob('*.log')))}.log"
            serving = serve(built(name), project=PROJECT, log=log, knobs=knobs, **options)  # type: ignore[arg-type]
            return stack.enter_context(serving)

        yield start_server
