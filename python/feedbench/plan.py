"""A plan: everything that a run will do, decided beforehand and written down (plan.json, spec/README.md).

The values and their JSON form; `planner.make_plan` makes them from a scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from feedbench.errors import RunDirectoryError
from feedbench.load import ENGINE, EXCHANGE, OWN, RELAY, Load
from feedbench.paths import SCHEMA, read_json, write_json
from feedbench.protocol import Expect, Gates, Protocol
from feedbench.spelling import FactorValue

__all__ = [
    "ACCESS",
    "LISTENED",
    "LOCAL",
    "POLLED",
    "Block",
    "Cell",
    "Condition",
    "Copy",
    "Expect",
    "FactorValue",
    "Gates",
    "Host",
    "Load",
    "Plan",
    "Process",
    "Protocol",
    "Question",
    "Round",
    "Skipped",
    "read_plan",
    "write_plan",
]

Copy = Literal["sentinel", "control"]
# Cells of a feed in which some are polled and others listen say which; the two are never compared.
ACCESS, LISTENED, POLLED = "access", "listened", "polled"


@dataclass(frozen=True)
class Host:
    """A machine that processes run on."""

    name: str
    address: str


LOCAL = Host(name="local", address="127.0.0.1")


@dataclass(frozen=True)
class Process:
    """Started fresh in each block. `knobs` are passed as FEEDBENCH_<KNOB>, the control's delay too."""

    id: str
    target: str
    copy: Copy | None
    knobs: Mapping[str, str]
    host: str


@dataclass(frozen=True)
class Condition:
    """One value of every engine-side factor, and the load that this makes."""

    id: str
    factors: Mapping[str, FactorValue]
    cpus_awake: bool
    load: Load


@dataclass(frozen=True)
class Cell:
    """One process under one condition. `factors` holds the knob factors too."""

    id: str
    process: str
    condition: str
    target: str
    copy: Copy | None
    factors: Mapping[str, FactorValue]


@dataclass(frozen=True)
class Round:
    """Cells measured together: sliced in one engine call, or in turn, each by its own client."""

    id: str
    cells: tuple[str, ...]
    cpus_awake: bool
    client: str


@dataclass(frozen=True)
class Question:
    """The cells to compare, without copies. Without a sentinel or a control nothing may be ranked."""

    id: str
    text: str
    fixed: Mapping[str, FactorValue]
    compare: str
    cells: tuple[str, ...]
    sentinel: tuple[str, str] | None
    control: tuple[str, str] | None


@dataclass(frozen=True)
class Block:
    """One repetition: in which order processes start and rounds run; the seed is for the engine's slices."""

    index: int
    seed: int
    start_order: tuple[str, ...]
    round_order: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """What is left out, and why. `cell` is None when the whole target is."""

    cell: str | None
    target: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """All that later stages need of the scenario, so that a run directory can be read far from home."""

    scenario: str
    title: str
    question: str
    analysis: str
    pages: str | None
    seed: int
    compare: str
    reference: str
    budget_ns: int | None
    hosts: tuple[Host, ...]  # the targets' first
    processes: tuple[Process, ...]
    conditions: tuple[Condition, ...]
    cells: tuple[Cell, ...]
    rounds: tuple[Round, ...]
    questions: tuple[Question, ...]
    blocks: tuple[Block, ...]
    skipped: tuple[Skipped, ...]
    protocol: Protocol
    gates: Gates
    expect: Expect
    estimate_ns: int
    loaders: tuple[str, ...] = (LOCAL.name,)  # the hosts that the load comes from

    def process(self, process_id: str) -> Process:
        return next(process for process in self.processes if process.id == process_id)

    def condition(self, condition_id: str) -> Condition:
        return next(condition for condition in self.conditions if condition.id == condition_id)

    def cell(self, cell_id: str) -> Cell:
        return next(cell for cell in self.cells if cell.id == cell_id)

    def blocks_with(self, process_id: str) -> frozenset[int]:
        """The blocks that start this process: all of them, unless the protocol says `per_block`."""
        return frozenset(block.index for block in self.blocks if process_id in block.start_order)

    def round(self, round_id: str) -> Round:
        return next(entry for entry in self.rounds if entry.id == round_id)

    @property
    def targets(self) -> tuple[str, ...]:
        """Every target that must be built: those measured and those whose client drives others; sorted."""
        clients = {condition.load.client for condition in self.conditions} - {ENGINE, OWN, EXCHANGE, RELAY}
        return tuple(sorted({process.target for process in self.processes} | clients))

    @property
    def is_of_feeds(self) -> bool:
        """Whether it measures clients that follow an exchange, and so event ages instead of round trips."""
        return any(condition.load.feed is not None for condition in self.conditions)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in _PLAIN},
            "hosts": [asdict(host) for host in self.hosts],
            **({} if self.loaders == (LOCAL.name,) else {"loaders": list(self.loaders)}),
            "processes": [asdict(process) for process in self.processes],
            "conditions": [_condition_to_json(condition) for condition in self.conditions],
            "cells": [asdict(cell) for cell in self.cells],
            "rounds": [asdict(entry) for entry in self.rounds],
            "questions": [asdict(question) for question in self.questions],
            "blocks": [asdict(block) for block in self.blocks],
            "skipped": [asdict(skipped) for skipped in self.skipped],
            "protocol": asdict(self.protocol),
            "gates": asdict(self.gates),
            "expect": asdict(self.expect),
            "estimate_ns": self.estimate_ns,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        return cls(
            **{name: document[name] for name in _PLAIN},
            hosts=tuple(Host(**host) for host in document["hosts"]),
            processes=tuple(Process(**process) for process in document["processes"]),
            conditions=tuple(_condition_from_json(condition) for condition in document["conditions"]),
            cells=tuple(Cell(**cell) for cell in document["cells"]),
            rounds=tuple(Round(**_tuples(entry, "cells")) for entry in document["rounds"]),
            questions=tuple(
                Question(**_tuples(question, "cells", "sentinel", "control"))
                for question in document["questions"]
            ),
            blocks=tuple(
                Block(**_tuples(block, "start_order", "round_order")) for block in document["blocks"]
            ),
            skipped=tuple(Skipped(**skipped) for skipped in document["skipped"]),
            protocol=Protocol(**_tuples(document["protocol"], "quantiles")),
            gates=Gates(**document["gates"]),
            expect=Expect(**document["expect"]),
            estimate_ns=document["estimate_ns"],
            loaders=tuple(document.get("loaders", (LOCAL.name,))),
        )


_PLAIN = ("scenario", "title", "question", "analysis", "pages", "seed", "compare", "reference", "budget_ns")


def read_plan(path: Path) -> Plan:
    """The plan in a plan.json; RunDirectoryError when it is missing, cut short or of another schema."""
    document = read_json(path, needed_for="know what was to be measured")
    try:
        return Plan.from_json(document)
    except (KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(
            f"this is not a plan ({error})", where=str(path), hint="make it anew with feedbench plan --out"
        ) from error


def write_plan(path: Path, plan: Plan) -> None:
    write_json(path, plan.to_json())


def _condition_to_json(condition: Condition) -> dict[str, Any]:
    return {
        "id": condition.id,
        "factors": dict(condition.factors),
        "cpus_awake": condition.cpus_awake,
        "load": condition.load.to_json(),
    }


def _condition_from_json(document: Mapping[str, Any]) -> Condition:
    return Condition(**{**document, "load": Load.from_json(document["load"])})


def _tuples(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """`document` with the lists under `names` as tuples; JSON knows no tuples."""
    changed = {name: tuple(document[name]) for name in names if document[name] is not None}
    return {**document, **changed}
