"""Targets and scenarios made up for the tests of scenario, registry and plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from feedbench.registry import Registry, State
from feedbench.scenario import Scenario, read_scenario
from feedbench.target import Target

MINIMAL = """\
schema = 1
name = "test"
title = "A test"
question = "Which is first?"
analysis = "None."
targets = ["c/floor", "node/ws"]
"""


def make_target(
    name: str,
    *,
    knobs: Mapping[str, tuple[str, ...]] | None = None,
    options: Mapping[str, str] | None = None,
    models: tuple[str, ...] = ("echo", "stamp"),
    echo_client: bool = False,
    status: str = "active",
) -> Target:
    return Target(
        name=name,
        folder=Path("targets") / name,
        language="L",
        library=name.split("/")[1],
        roles=("server",),
        speaks=("ws",),
        models=models,
        tuned=False,
        status=status,
        reason="it is broken upstream" if status == "on-hold" else None,
        notes="",
        needs=(),
        build_commands=(),
        lock=None,
        mode="release",
        version_command=("true",),
        toolchain_command=("true",),
        server_command=("server",),
        echo_client_command=("client",) if echo_client else None,
        knobs=knobs or {},
        options=options or {},
    )


BUILT = State("built", None, "1.0")
DELAY = {"delay_ns": ("0", "*")}


def make_registry(*targets: Target, states: Mapping[str, State] | None = None) -> Registry:
    return Registry(
        targets=tuple(sorted(targets, key=lambda target: target.name)),
        states={target.name: (states or {}).get(target.name, BUILT) for target in targets},
    )


def usual_registry(states: Mapping[str, State] | None = None) -> Registry:
    """Five targets with different talents, and a fake."""
    logging = {"log_messages": ("false", "true")}
    return make_registry(
        make_target("c/floor", knobs=DELAY),
        make_target("node/ws", knobs={**DELAY, **logging, "deflate": ("off", "on")}),
        make_target("python/tornado", knobs={**DELAY, **logging, "deflate": ("off", "on")}, echo_client=True),
        make_target("python/websockets", knobs={**logging, "deflate": ("on", "off")}, echo_client=True),
        make_target("rust/plain", options={"deflate": "off"}, models=("echo",)),
        make_target("_fake/echo", knobs=DELAY),
        states=states,
    )


def scenario_from(text: str, folder: Path, *, registry: Registry | None = None) -> Scenario:
    path = folder / "test.toml"
    path.write_text(text, encoding="utf-8")
    return read_scenario(path, registry=registry or usual_registry(), root=folder)
