"""What runs have shown of each choice: an observation for each cell and capacity search, with its load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedbench.analyze.intervals import lower_median, median_interval
from feedbench.errors import RunDirectoryError
from feedbench.findings import CellFinding, Decision, Findings, Interval, read_findings
from feedbench.load import ENGINE, Burst, Closed, Load, Payload
from feedbench.paths import RunDirectory, read_json
from feedbench.plan import read_plan

CONFIDENCE = 0.95
# What is not the choice's: the load, and what the need names by itself.
NOT_SETTINGS = frozenset(
    ("connections", "rate", "pacer", "in_flight", "burst", "interval", "payload", "path", "client")
) | {"door", "tls", "deflate"}


@dataclass(frozen=True, order=True)
class Choice:
    """What can be chosen: a target, the door it is used through, and the values of whatever else varied."""

    target: str
    door: str
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def language(self) -> str:
        return self.target.partition("/")[0]

    def __str__(self) -> str:
        details = [self.door, *(f"{name}={value}" for name, value in self.settings)]
        return f"{self.target} ({', '.join(details)})"


@dataclass(frozen=True)
class Observation:
    """One choice under one load. `rate_per_s` is what was offered, in a closed loop what was answered.

    `failed` says why it failed, if it did so in any block. What a capacity search found stands in
    `holds_rate_per_s`: (shown to be in time, shown to be too much), for a p99 below `limit_ns`.
    """

    choice: Choice
    deflate: bool
    source: str
    cell: str
    payload: str
    connections: int
    rate_per_s: float
    closed_loop: bool = False
    p99_ns: float | None = None
    p99_interval_ns: Interval | None = None
    loss_share: float = 0.0
    cpu_ns: float | None = None
    cpu_interval_ns: Interval | None = None
    memory_bytes: int | None = None
    failed: str | None = None
    holds_rate_per_s: tuple[float, float] | None = None
    limit_ns: int | None = None


@dataclass(frozen=True)
class Evidence:
    """`decisions` at p99, by source and pair of cells; `commands` repeat what was read; `unused` says what
    was read and stands for nothing here.
    """

    observations: tuple[Observation, ...] = ()
    decisions: Mapping[tuple[str, str, str], Decision] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def payloads(self) -> list[str]:
        return sorted({observation.payload for observation in self.observations})

    @property
    def choices(self) -> list[Choice]:
        return sorted({observation.choice for observation in self.observations})

    def decision(self, first: Observation, second: Observation) -> tuple[Decision, bool] | None:
        """What their run decided about the two cells, and whether it names the second first."""
        if first.source != second.source:
            return None
        for pair, turned in (((first.cell, second.cell), False), ((second.cell, first.cell), True)):
            found = self.decisions.get((first.source, *pair))
            if found is not None:
                return found, turned
        return None


def read_evidence(paths: Sequence[Path]) -> Evidence:
    """From run directories and files that `feedbench capacity --json` printed.

    RunDirectoryError when a path holds neither, or one that can't be read.
    """
    parts = [_capacity(path) if path.is_file() else _run(path) for path in paths]
    return Evidence(
        observations=tuple(one for part in parts for one in part.observations),
        decisions={key: decision for part in parts for key, decision in part.decisions.items()},
        commands=tuple(dict.fromkeys(command for part in parts for command in part.commands)),
        unused=tuple(text for part in parts for text in part.unused),
    )


def _run(path: Path) -> Evidence:
    run = RunDirectory(path)
    plan = read_plan(run.plan)
    loads = {cell.id: plan.condition(cell.condition).load for cell in plan.cells}
    return of_findings(read_findings(run.findings), source=str(path), loads=loads)


def payload_words(payload: Payload) -> str:
    """As a scenario writes it: `binary:108`, `file:tick.bin`, `stamp`."""
    size = payload.file if payload.bytes is None else payload.bytes
    return payload.kind if size is None else f"{payload.kind}:{size}"


def of_findings(findings: Findings, *, source: str, loads: Mapping[str, Load]) -> Evidence:
    """Cells that the engine drove: other clients' work would be inside their figures. `loads`: by cell."""
    if any(question.quantity != "round_trip" for question in findings.questions):
        return Evidence(unused=(f"{source}: event ages of clients, while this is about servers",))
    observations, unused = [], []
    for cell in findings.cells:
        load = loads[cell.cell]
        if cell.copy is not None:
            continue
        lack = _lack(cell, load)
        if lack is None:
            observations.append(_observation(cell, source, load))
        else:
            unused.append(f"{source}: {cell.cell}, {lack}")
    return Evidence(
        observations=tuple(observations),
        decisions={
            (source, *decision.cells): decision
            for question in findings.questions
            for decision in question.decisions
            if decision.quantile == "p99"
        },
        commands=(findings.repeat,),
        unused=tuple(unused),
    )


def _lack(cell: CellFinding, load: Load) -> str | None:
    """Why a cell tells nothing of a server under a steady load; None when it does."""
    if load.client != ENGINE:
        return f"driven by {load.client}"
    if isinstance(load.pacer, Burst):
        return "asked in bursts"
    if not _p99_values(cell) and _failure(cell) is None:
        return "without a usable block"
    return None


def _observation(cell: CellFinding, source: str, load: Load) -> Observation:
    settings = {name: str(value) for name, value in cell.factors.items() if name not in NOT_SETTINGS}
    tls = str(cell.factors.get("tls", cell.options.get("tls", "off")))
    door = str(cell.factors.get("door", "ws" if tls == "off" else "wss"))
    p99 = _p99_values(cell)
    offered = cell.offered_per_s if cell.offered_per_s is not None else cell.round_trips_per_s.value
    return Observation(
        choice=Choice(cell.target, door, tuple(sorted(settings.items()))),
        deflate=cell.options.get("deflate", "off") != "off",
        source=source,
        cell=cell.cell,
        payload=payload_words(load.payload),
        connections=load.connections,
        rate_per_s=offered or 0.0,
        closed_loop=isinstance(load.pacer, Closed),
        p99_ns=lower_median(p99) if p99 else None,
        p99_interval_ns=median_interval(p99, CONFIDENCE),
        loss_share=cell.lost / cell.sent if cell.sent else 0.0,
        cpu_ns=cell.cpu_ns_per_message.value,
        cpu_interval_ns=cell.cpu_ns_per_message.interval,
        memory_bytes=cell.rss_connected_bytes,
        failed=_failure(cell),
    )


def _p99_values(cell: CellFinding) -> list[float]:
    return [float(value) for line in cell.per_block if (value := line.get("p99")) is not None]


def _failure(cell: CellFinding) -> str | None:
    """Only what the target itself did: a block that was dropped or never begun says nothing of it."""
    blocks = sum(cell.verdicts.get(verdict, 0) for verdict in ("failed", "missed_rate"))
    if not blocks:
        return None
    return f"it failed in {blocks} block{'' if blocks == 1 else 's'}: {'; '.join(cell.causes)}"


def _capacity(path: Path) -> Evidence:
    document = read_json(path, needed_for="know what capacity was found")
    try:
        return _of_capacity(document, str(path))
    except (KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(
            f"this is no outcome of a capacity search ({error})",
            where=str(path),
            hint="give run directories, or what `feedbench capacity --json` printed",
        ) from error


def _of_capacity(document: Mapping[str, Any], source: str) -> Evidence:
    what, below_ns = str(document["what"]), document["below_ns"]
    if document["of"] != "rate" or document["quantile"] != "p99" or below_ns is None:
        text = f"{source}: not a search of a rate with a limit on p99 (--of rate --quantile p99 --below …)"
        return Evidence(unused=(text,))
    low, high = (float(value) for value in document["interval"])
    connections = int(document["connections"])
    observation = Observation(
        choice=Choice(what, "ws"),
        deflate=False,
        source=source,
        cell=f"capacity of {what}",
        payload=str(document["payload"]),
        connections=connections,
        rate_per_s=low,
        holds_rate_per_s=(low, float("inf") if document["at_least"] else high),
        limit_ns=int(below_ns),
    )
    limit = f"--quantile p99 --below {below_ns}ns"
    command = f"feedbench capacity {what} --of rate --connections {connections} {limit} --json > {source}"
    return Evidence(observations=(observation,), commands=(command,))


def load_words(observations: Sequence[Observation]) -> Iterator[str]:
    """Each load that was measured, least first."""
    for connections, rate_per_s in sorted({(one.connections, one.rate_per_s) for one in observations}):
        yield f"{connections:,} connection{'' if connections == 1 else 's'} at {rate_per_s:,.0f}/s"
