"""Was the machine fit to measure on? Each gate looks at a block's environment and never at who was measured.

A gate uses what all targets of a block share: the machine's own figures, the engine's, or what none of
them escaped. So a target that is slow, or whose threads stand in each other's way, can't get its own bad
blocks dropped, nor others'. A block that fails is dropped whole, from all targets alike, counted and shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from feedbench.analyze.evidence import Evidence, Json
from feedbench.analyze.quantiles import parse_quantile
from feedbench.findings import DroppedBlock, GateFinding
from feedbench.load import CapacityShare, Constant, Load, Pacer, Poisson, pacer_to_json
from feedbench.plan import Round

NOT_RECORDED = "environment_record"


@dataclass(frozen=True)
class Gate:
    """`text` says in the report what a failure means; its name is a key of the scenario's `[gates]`.

    `measure` is given the round's environment, what was asked for and what came of each cell, and the
    quantiles that are to be decided.
    """

    name: str
    text: str
    measure: Callable[[Json, list[tuple[Load, Json]], Sequence[str]], float | None]


@dataclass(frozen=True)
class RoundGates:
    """The gates of one round: value by gate and block, and the blocks that are dropped for it."""

    values: Mapping[str, Mapping[int, float]]
    dropped: tuple[DroppedBlock, ...]


def _steal_share(environment: Json, _: list[tuple[Load, Json]], __: Sequence[str]) -> float | None:
    return environment.get("steal_share")


def _run_delay_share(environment: Json, cells: list[tuple[Load, Json]], _: Sequence[str]) -> float | None:
    """What targets waited for a CPU, as far as work from outside the run can account for it.

    Targets also wait for their own collector threads and for what a neighbour still compiles; that is theirs,
    and would otherwise fail every block of a scenario with a JIT in it, however quiet the machine. Work from
    outside strikes all targets of interleaved slices alike, so it is at most what the least affected waited;
    and at most what processes outside the run had of its CPUs.
    """
    shares = [share for share in environment.get("target_run_delay_share", {}).values() if share is not None]
    if not shares:
        return None
    sliced = any((load.get("slices") or 1) > 1 for _, load in cells)
    shared: float = min(shares) if sliced else median(shares)
    other_work = environment.get("other_work_share")
    return shared if other_work is None else min(shared, other_work)


def _engine_stalls(_: Json, cells: list[tuple[Load, Json]], __: Sequence[str]) -> float | None:
    """Per second of measuring."""
    known = [load for _, load in cells if load.get("engine_stalls") is not None and load.get("measured_ns")]
    seconds = sum(load["measured_ns"] for load in known) / 1e9
    return sum(load["engine_stalls"] for load in known) / seconds if seconds else None


def _lateness_p999_share(_: Json, cells: list[tuple[Load, Json]], __: Sequence[str]) -> float | None:
    """The engine's worst lateness beside the smallest p99 that it is to measure, pacer by pacer: a closed
    loop can't be late, and its short tail says nothing about the tails that an open loop is to show. What an
    exchange sends is judged by `_exchange_run_delay_share`.
    """
    shares = []
    for pacer in {load.pacer for load, _ in cells if load.feed is None}:
        loads = [document for load, document in cells if load.pacer == pacer]
        lateness = _quantiles(loads, "lateness_ns", "p99.9")
        p99 = [value for value in _quantiles(loads, "latency_ns", "p99") if value > 0]
        if lateness and p99:
            shares.append(max(lateness) / min(p99))
    return max(shares, default=None)


def _exchange_run_delay_share(
    environment: Json, cells: list[tuple[Load, Json]], quantiles: Sequence[str]
) -> float | None:
    """The share of the round in which the exchange waited for a CPU, beside the share of messages that lie
    beyond the highest quantile that is to be decided.

    Its lateness, by which engines are judged, would not do: of events that come all at once the last one is
    told late on the quietest machine, and a client that reads slowly holds up its own. A millisecond in each
    second is far above a quick client's age, but only one message in a thousand is in it.
    """
    waited_ns, wall_ns = environment.get("engine_run_delay_ns"), environment.get("wall_ns")
    if waited_ns is None or not wall_ns or all(load.feed is None for load, _ in cells):
        return None
    return float(waited_ns / wall_ns / (1 - max(map(parse_quantile, quantiles))))


def _quantiles(loads: list[Json], summary: str, quantile: str) -> list[float]:
    values = ((load.get(summary) or {}).get(quantile) for load in loads)
    return [value for value in values if value is not None]


def _achieved_rate_share(_: Json, cells: list[tuple[Load, Json]], __: Sequence[str]) -> float | None:
    """Median over targets of |sent / asked for − 1|; a slow target's own misses are its verdict
    `missed_rate`.
    """
    misses = []
    for asked, load in cells:
        rate_per_s = _rate_per_s(asked.pacer, load)
        if rate_per_s is None or not load.get("measured_ns"):
            continue
        expected = rate_per_s * load["measured_ns"] / 1e9
        # A Poisson count scatters by √n on its own; 3.3 of them happen by chance once in a thousand.
        chance = 3.3 * math.sqrt(expected) if pacer_to_json(asked.pacer)["kind"] == "poisson" else 1.0
        misses.append(max(0.0, abs(load["sent"] - expected) - chance) / expected)
    return median(misses) if misses else None


def _rate_per_s(asked: Pacer, load: Json) -> float | None:
    """What was to be sent; a share of the target's capacity is a rate only in what the engine was told."""
    match asked:
        case Constant() | Poisson():
            return asked.rate_per_s
        case CapacityShare():
            return float(load["pacer"]["rate_per_s"])
    return None


GATES = (
    Gate(
        "lateness_p999_share",
        "the engine sent on time: its lateness at p99.9 beside the smallest p99",
        _lateness_p999_share,
    ),
    Gate("achieved_rate_share", "the rate asked for was sent", _achieved_rate_share),
    Gate("steal_share", "the hypervisor left this machine its CPUs", _steal_share),
    Gate("run_delay_share", "targets that were ready to run had a CPU", _run_delay_share),
    Gate(
        "engine_stalls", "the engine was seldom off its CPU for over 1 ms (times per second)", _engine_stalls
    ),
    Gate(
        "exchange_run_delay_share",
        "the exchange had its CPU: the share of time that it waited, beside the tail that is to be decided",
        _exchange_run_delay_share,
    ),
)


def judge_round(evidence: Evidence, entry: Round) -> RoundGates:
    """Every block of the round that left anything, against every gate that has something to say."""
    limits = asdict(evidence.plan.gates)
    values: dict[str, dict[int, float]] = {gate.name: {} for gate in GATES}
    dropped = []
    for block in evidence.blocks:
        if not any(block in evidence.cells[cell] for cell in entry.cells):
            continue
        environment = evidence.environments[entry.id].get(block)
        if environment is None:
            # Interrupted before it could be told how the machine was: nothing vouches for such a block.
            dropped.append(DroppedBlock(block, NOT_RECORDED, None, None))
            continue
        loads = _loads(evidence, entry, block)
        for gate in GATES:
            value = gate.measure(environment, loads, evidence.plan.protocol.quantiles)
            if value is None:
                continue
            values[gate.name][block] = value
            if value > limits[gate.name]:
                dropped.append(DroppedBlock(block, gate.name, value, limits[gate.name]))
    return RoundGates(values, tuple(dropped))


def summarize(rounds: Iterable[RoundGates], limits: Mapping[str, Any]) -> tuple[GateFinding, ...]:
    """One line a gate over all rounds of a question; a gate that measured nothing is left out."""
    judged = list(rounds)
    found = []
    for gate in GATES:
        values = [value for entry in judged for value in entry.values[gate.name].values()]
        if values:
            failed = {drop.block for entry in judged for drop in entry.dropped if drop.gate == gate.name}
            found.append(
                GateFinding(
                    name=gate.name,
                    passed=not failed,
                    blocks_failed=len(failed),
                    worst=max(values),
                    limit=limits[gate.name],
                    text=gate.text,
                )
            )
    return tuple(found)


def _loads(evidence: Evidence, entry: Round, block: int) -> list[tuple[Load, Json]]:
    """What was asked for and what came, of each cell of the round that finished."""
    found = []
    for cell in entry.cells:
        result = evidence.cells[cell].get(block)
        if result is not None and result.usable and result.load is not None:
            found.append((evidence.plan.condition(evidence.plan.cell(cell).condition).load, result.load))
    return found
