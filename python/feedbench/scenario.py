"""A scenario: one question in TOML (spec/README.md), read, checked and with its globs resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.document import TomlDocument
from feedbench.errors import ScenarioError
from feedbench.feed.relay import RELAY_DEFAULTS
from feedbench.feed.settings import EXCHANGE_FACTOR, FEED_DEFAULTS, exchange_name
from feedbench.load import LOAD_DEFAULTS
from feedbench.plan import FactorValue
from feedbench.protocol import Expect, Gates, Protocol
from feedbench.registry import Registry
from feedbench.scenario_checks import chosen, problems
from feedbench.spelling import spelled
from feedbench.units import parse_duration

__all__ = ["TARGET", "Control", "Excluded", "Scenario", "read_scenario"]

TARGET = "target"


@dataclass(frozen=True)
class Control:
    """A copy of `target` that waits `delay_ns` before each answer; the analysis must find just that."""

    target: str
    delay_ns: int


@dataclass(frozen=True)
class Excluded:
    """A target that a glob would bring in, and why it is left out."""

    target: str
    reason: str


@dataclass(frozen=True)
class Scenario:
    """`targets` are names in the scenario's order; `load` holds every key of [load]; knobs are texts.

    `feed`: every key of [feed], where the targets are clients that follow an exchange; `load` then says
    nothing. `relay`: every key of [relay], where they are relays that do. `apart` wants the load
    on another machine than the targets.
    """

    path: Path
    name: str
    title: str
    question: str
    analysis: str
    pages: str | None
    targets: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    reference: str
    compare: str
    budget_ns: int | None
    sentinel: str
    control: Control | None
    protocol: Protocol
    seed: int
    gates: Gates
    load: Mapping[str, Any]
    knobs: Mapping[str, str]
    factors: Mapping[str, tuple[FactorValue, ...]]
    expect: Expect
    feed: Mapping[str, Any] | None = None
    relay: Mapping[str, Any] | None = None
    apart: bool = False

    @property
    def knob_factors(self) -> tuple[str, ...]:
        return tuple(name for name in self.factors if name not in self._condition_keys)

    @property
    def engine_factors(self) -> tuple[str, ...]:
        """What whoever drives the targets varies: the engine, or the exchange."""
        return tuple(name for name in self.factors if name in self._condition_keys)

    @property
    def _condition_keys(self) -> set[str]:
        keys = LOAD_DEFAULTS if self.feed is None else (*FEED_DEFAULTS, EXCHANGE_FACTOR)
        return {*keys, *(RELAY_DEFAULTS if self.relay is not None else ()), "cpus_awake"}


def read_scenario(path: Path, *, registry: Registry, root: Path) -> Scenario:
    """The scenario in `path`; ScenarioError names line and hint. `root` is the checkout's folder."""
    document = TomlDocument.read(path, error=ScenarioError)
    stated = {
        table: set(document.content.get(table, ()))
        for table in ("load", "protocol", "knobs", "feed", "relay")
    }
    document.check("scenario")
    document.refuse(problems(document, registry=registry, stated=stated))
    return _scenario(document, registry=registry, root=root)


def _scenario(document: TomlDocument, *, registry: Registry, root: Path) -> Scenario:
    content = document.content
    excluded = _excluded(content["exclude"], registry)
    targets = tuple(target.name for target in chosen(content, registry))
    reference = content.get("reference", targets[0])
    control = content.get("control")
    folder = document.path.resolve().parent
    return Scenario(
        path=document.path,
        name=content["name"],
        title=content["title"],
        question=content["question"],
        analysis=content["analysis"].strip(),
        pages=content.get("pages"),
        targets=targets,
        excluded=excluded,
        reference=reference,
        compare=content["compare"],
        budget_ns=parse_duration(content["budget"]) if "budget" in content else None,
        sentinel=content["sentinel"]["target"] if "sentinel" in content else reference,
        control=Control(control["target"], parse_duration(control["delay"])) if control else None,
        protocol=_protocol(content["protocol"]),
        seed=content["protocol"]["seed"],
        gates=Gates(**content["gates"]),
        load={**content["load"], "payload": _placed(content["load"]["payload"], folder, root)},
        knobs={knob: spelled(value) for knob, value in content["knobs"].items()},
        factors={
            **_exchange_factor(content.get("feed")),
            **{
                name: tuple(_placed(value, folder, root) if name == "payload" else value for value in values)
                for name, values in content["factors"].items()
            },
        },
        expect=Expect(**content["expect"]),
        feed=content.get("feed"),
        relay=content.get("relay"),
        apart=content["apart"],
    )


def _exchange_factor(feed: Mapping[str, Any] | None) -> dict[str, tuple[FactorValue, ...]]:
    """Several exchanges are a factor, without having been written as one."""
    names = tuple(exchange_name(exchange) for exchange in (feed or {}).get("exchanges", ()))
    return {EXCHANGE_FACTOR: names} if len(names) > 1 else {}


def _excluded(entries: list[dict[str, str]], registry: Registry) -> tuple[Excluded, ...]:
    return tuple(
        Excluded(target.name, entry["reason"])
        for entry in entries
        for target in registry.matching(entry["target"])
    )


def _protocol(content: Mapping[str, Any]) -> Protocol:
    return Protocol(
        blocks=content["blocks"],
        slice_ns=None if content["slice"] == "none" else parse_duration(content["slice"]),
        drop_first=content["drop_first"],
        warmup_ns=parse_duration(content["warmup"]),
        measure_ns=parse_duration(content["measure"]),
        quantiles=tuple(content["quantiles"]),
        margin_ratio=content["margin_ratio"],
        margin_ns=parse_duration(content["margin"]),
        confidence=content["confidence"],
        pin=content["pin"],
        shield=content["shield"],
        cpus_awake=content["cpus_awake"],
        per_block=content.get("per_block"),
    )


def _placed(payload: str, folder: Path, root: Path) -> str:
    """A payload file's path as seen from the checkout's folder: so the plan is the same everywhere."""
    kind, _, name = payload.partition(":")
    if kind not in ("file", "text-file"):
        return payload
    file = (folder / name).resolve()
    return f"{kind}:{file.relative_to(root) if file.is_relative_to(root) else file}"
