"""What the tests of the targets share: the registry, building, an independent client."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from websockets.sync.client import ClientConnection, connect

from feedbench.build import build_target
from feedbench.launch import Server
from feedbench.paths import Project
from feedbench.registry import discover, missing_need, read_latest_receipt
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
REGISTRY = discover(PROJECT, probe=lambda need: None)
FAKE = "_fake/echo"
ALWAYS = {FAKE, *tomllib.loads((PROJECT.root / "scenarios/quick.toml").read_text())["targets"]}

Start = Callable[..., Server]


def open_client(server: Server, path: str = "/echo", **options: object) -> ClientConnection:
    """An independent client; it offers no compression unless a test asks for it."""
    settings = {"compression": None, "proxy": None, "max_size": None, "open_timeout": 5, "close_timeout": 5}
    return connect(server.url(path), **(settings | options))  # type: ignore[arg-type]


def load_module(path: str) -> ModuleType:
    """A Python file below targets/, where the folders are no packages."""
    file = PROJECT.targets / path
    name = f"targets_{file.parent.name}_{file.stem}"
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def build(target: Target) -> None:
    """As `feedbench build` does. Skips the test, with the reason, where a tool is missing, and for a target
    that nobody has built here yet, unless it is one of the few that `make bench` measures.
    """
    if target.on_hold:
        pytest.skip(f"on hold: {target.reason}")
    if target.name not in ALWAYS and read_latest_receipt(PROJECT, target.name) is None:
        pytest.skip(f"not built here; feedbench build {target.name} brings it into the tests")
    for need in target.needs:
        if (lack := missing_need(need)) is not None:
            pytest.skip(lack)
    receipt = build_target(target, project=PROJECT, say=lambda line: None)
    assert receipt.state == "built", receipt.reason
