"""A complete run directory out of a seeded model: what `feedbench run` would have left behind, in a second,
on any machine.

The model has what real campaigns show (METHODOLOGY.md): noise that all cells of a block share, processes that
start in one of two modes, round trips that resemble the one before, a log-normal shape with a heavy tail.
Tests plant what they want found: a delay, a dead target, a starved block, a file cut short.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from feedbench.load import Closed, Load, Payload
from feedbench.paths import RunDirectory, write_json
from feedbench.plan import (
    LOCAL,
    Block,
    Cell,
    Condition,
    Copy,
    Expect,
    Gates,
    Plan,
    Process,
    Protocol,
    Question,
    Round,
    Skipped,
    write_plan,
)
from feedbench.samples import RECORD, Records, write_samples

START_UNIX_NS = 1_795_000_000_000_000_000
BOOT_NS = 7_200_000_000_000  # CLOCK_MONOTONIC when the run begins


@dataclass(frozen=True)
class Model:
    """How one target behaves with one message under way, and what it says about itself."""

    name: str
    latency_ns: int
    process_sd: float = 0.002  # of log latency, between processes of the target
    second_mode: float = 1.0  # factor of the slow mode, which half of the processes start in
    cpu_ns_per_message: int = 10_000
    memory_bytes: int = 20_000_000
    memory_per_connection_bytes: int = 12_000
    language: str = "C"
    version: str = "1.0"
    options: Mapping[str, str] = field(
        default_factory=lambda: {"deflate": "off", "nodelay": "on", "threads": "1"}
    )


QUICK = (
    Model("c/floor", 26_000, cpu_ns_per_message=6_000, memory_bytes=2_000_000),
    Model("rust/fastwebsockets", 29_000, cpu_ns_per_message=8_000, memory_bytes=4_000_000, language="Rust"),
    Model("node/ws", 34_000, cpu_ns_per_message=16_000, memory_bytes=60_000_000, language="JavaScript"),
    Model("python/picows", 34_100, cpu_ns_per_message=15_000, memory_bytes=30_000_000, language="Python"),
    Model("python/tornado", 49_000, cpu_ns_per_message=32_000, memory_bytes=35_000_000, language="Python"),
    Model("python/websockets", 66_000, second_mode=1.28, cpu_ns_per_message=48_000, language="Python"),
)


@dataclass(frozen=True)
class Synthetic:
    """What to make. Times in ns; `delay_ns` is the control's, `sentinel_factor` slows the sentinel down by a
    bug.
    """

    models: tuple[Model, ...] = QUICK
    reference: str = "node/ws"
    control: str = "c/floor"
    delay_ns: int = 5_000
    found_delay_ns: int | None = None  # what the control's delay really adds; None: what it should
    sentinel_factor: float = 1.0
    connections: tuple[int, ...] = (1, 32)
    blocks: int = 11
    measure_ns: int = 100_000_000
    slice_ns: int = 25_000_000
    warmup_ns: int = 1_000_000_000
    block_sd: float = 0.05  # of log latency, shared by all cells of a block
    slice_sd: float = 0.01  # of log latency, between slices
    autocorrelation: float = 0.6  # of log latency, from one message of a connection to the next
    seed: int = 1
    scenario: str = "quick"


def write_run(folder: Path, synthetic: Synthetic | None = None) -> RunDirectory:
    """Writes the whole directory but for findings, tables and report, which are the next stages' business."""
    synthetic = synthetic or Synthetic()
    run = RunDirectory(folder)
    plan = make_plan(synthetic)
    folder.mkdir(parents=True)
    run.scenario.write_text(
        f'schema = 1\nname = "{plan.scenario}"\ntitle = "{plan.title}"\n', encoding="utf-8"
    )
    write_plan(run.plan, plan)
    write_json(run.host, _host())
    write_json(run.ceiling, _ceiling(synthetic))
    for model in synthetic.models:
        write_json(run.receipt(model.name), _receipt(model))
    random = np.random.default_rng(synthetic.seed)
    clock_ns = BOOT_NS
    for block in plan.blocks:
        clock_ns = _write_block(run, plan, synthetic, block.index, random, clock_ns)
    write_json(
        folder / "run.json",
        {
            "schema": 1,
            "blocks_planned": synthetic.blocks,
            "blocks_done": list(range(synthetic.blocks)),
            "stopped": "complete",
            "cause": None,
            "started_unix_ns": START_UNIX_NS,
            "ended_unix_ns": START_UNIX_NS + clock_ns - BOOT_NS,
            "shield": "autogroup −20",
            "pinned": {"targets": [0], "engine": [1]},
            "advice": [],
            "left_out": [],
        },
    )
    return run


def change_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Applies `change` to the object in `path`: plants a fault in what write_run made."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    write_json(path, document)


def make_plan(synthetic: Synthetic) -> Plan:
    """The plan that such a run would have had."""
    names = [model.name for model in synthetic.models]
    processes = [_process(name, None) for name in names]
    processes += [_process(synthetic.reference, "sentinel")]
    processes += [_process(synthetic.control, "control", {"delay_ns": str(synthetic.delay_ns)})]
    conditions = tuple(
        Condition(
            id=f"connections={count}",
            factors={"connections": count},
            cpus_awake=True,
            load=Load(
                Closed(1),
                count,
                "/echo",
                Payload("binary", bytes=108),
                False,
                "engine",
                "epoll",
                2_000_000_000,
            ),
        )
        for count in synthetic.connections
    )
    cells = tuple(
        Cell(
            f"{process.id}+{condition.id}",
            process.id,
            condition.id,
            process.target,
            process.copy,
            condition.factors,
        )
        for condition in conditions
        for process in processes
    )

    def together(condition: Condition) -> tuple[str, ...]:
        return tuple(cell.id for cell in cells if cell.condition == condition.id)

    return Plan(
        scenario=synthetic.scenario,
        title="Which WebSocket server answers first?",
        question="Which WebSocket server returns a small binary message first?",
        analysis="One binary message of 108 bytes goes to an echo server and comes back.\n\n"
        "What this can't say: how the servers behave when they push, or over a network.",
        pages=None,
        seed=synthetic.seed,
        compare="target",
        reference=synthetic.reference,
        budget_ns=None,
        hosts=(LOCAL,),
        processes=tuple(processes),
        conditions=conditions,
        cells=cells,
        rounds=tuple(Round(condition.id, together(condition), True, "engine") for condition in conditions),
        questions=tuple(
            Question(
                id=condition.id,
                text=f"Which WebSocket server answers first with {condition.load.connections} connections?",
                fixed=condition.factors,
                compare="target",
                cells=tuple(f"{_id(name)}+{condition.id}" for name in names),
                sentinel=(
                    f"{_id(synthetic.reference)}+{condition.id}",
                    f"{_id(synthetic.reference)}~sentinel+{condition.id}",
                ),
                control=(
                    f"{_id(synthetic.control)}+{condition.id}",
                    f"{_id(synthetic.control)}~control+{condition.id}",
                ),
            )
            for condition in conditions
        ),
        blocks=tuple(
            Block(
                index,
                seed=synthetic.seed * 1000 + index,
                start_order=tuple(process.id for process in processes),
                round_order=tuple(condition.id for condition in conditions),
            )
            for index in range(synthetic.blocks)
        ),
        skipped=(Skipped(None, "csharp/fleck", "dotnet is not installed (Debian: apt-get install dotnet8)"),),
        protocol=Protocol(
            blocks=synthetic.blocks,
            slice_ns=synthetic.slice_ns,
            warmup_ns=synthetic.warmup_ns,
            measure_ns=synthetic.measure_ns,
        ),
        gates=Gates(),
        expect=Expect(),
        estimate_ns=280_000_000_000,
    )


def chain(
    random: np.random.Generator, *, median_ns: NDArray[np.float64], length: int, autocorrelation: float
) -> NDArray[np.uint64]:
    """Round trips of independent chains, shape (len(median_ns), length): log-normal, each like the one before
    it.

    One in 400 meets a stall of 50 to 150 µs, so that the tail is not the middle's.
    """
    shape = (median_ns.size, length)
    shocks = random.normal(0, 0.06 * np.sqrt(1 - autocorrelation**2), shape)
    shocks[:, 0] /= np.sqrt(1 - autocorrelation**2)  # begins in the stationary state
    wander = lfilter([1.0], [1.0, -autocorrelation], shocks, axis=1)
    stalls = np.where(random.random(shape) < 1 / 400, random.uniform(50_000, 150_000, shape), 0)
    latency = median_ns[:, None] * np.exp(wander) + stalls
    return latency.astype(np.uint64)


def _id(target: str) -> str:
    return target.replace("/", "-")


def _process(target: str, copy: Copy | None, knobs: Mapping[str, str] | None = None) -> Process:
    return Process(_id(target) + (f"~{copy}" if copy else ""), target, copy, knobs or {}, "local")


def _write_block(
    run: RunDirectory,
    plan: Plan,
    synthetic: Synthetic,
    index: int,
    random: np.random.Generator,
    clock_ns: int,
) -> int:
    """One block; returns the time at its end."""
    models = {model.name: model for model in synthetic.models}
    started_ns = clock_ns
    weather = np.exp(random.normal(0, synthetic.block_sd))
    processes = {process.id: _temper(models[process.target], random) for process in plan.processes}
    for turn in plan.rounds:
        cells = [plan.cell(cell_id) for cell_id in turn.cells]
        clock_ns += synthetic.warmup_ns
        for position, cell in enumerate(cells):
            median_ns = models[cell.target].latency_ns * weather * processes[cell.process]
            if cell.copy == "control":
                added = synthetic.found_delay_ns
                median_ns += synthetic.delay_ns if added is None else added
            if cell.copy == "sentinel":
                median_ns *= synthetic.sentinel_factor
            connections = plan.condition(cell.condition).load.connections
            records = _records(synthetic, random, clock_ns, median_ns, connections, position, len(cells))
            _write_cell(run, synthetic, models[cell.target], index, cell.id, connections, records)
        clock_ns += synthetic.measure_ns * len(cells)
        write_json(run.environment(index, turn.id), _environment(index, turn, plan, synthetic))
    write_json(
        run.block(index) / "block.json",
        {
            "schema": 1,
            "index": index,
            "started_unix_ns": START_UNIX_NS + started_ns - BOOT_NS,
            "ended_unix_ns": START_UNIX_NS + clock_ns - BOOT_NS,
        },
    )
    return clock_ns


def _temper(model: Model, random: np.random.Generator) -> float:
    """What a process is like for as long as it lives: its mode and its own small deviation."""
    mode = model.second_mode if random.random() < 0.5 else 1.0
    return float(mode * np.exp(random.normal(0, model.process_sd)))


def _records(
    synthetic: Synthetic,
    random: np.random.Generator,
    clock_ns: int,
    median_ns: float,
    connections: int,
    position: int,
    cells: int,
) -> Records:
    """A closed loop on each connection, 1 µs from an answer to the next message, seen in every slice but its
    head.
    """
    slices = synthetic.measure_ns // synthetic.slice_ns
    head_ns = synthetic.slice_ns // 10
    window_ns = synthetic.slice_ns - head_ns
    # One thread answers all connections in turn, so each waits for the others.
    waiting_ns = median_ns * connections * np.exp(random.normal(0, synthetic.slice_sd, slices))
    length = int(window_ns / waiting_ns.min() * 1.4) + 8
    latency = chain(
        random,
        median_ns=np.repeat(waiting_ns, connections),
        length=length,
        autocorrelation=synthetic.autocorrelation,
    )
    begin = clock_ns + (np.arange(slices) * cells + position) * synthetic.slice_ns + head_ns
    sent = np.repeat(begin.astype(np.uint64), connections)[:, None] + np.cumsum(
        latency + np.uint64(1_000), axis=1
    )
    sent -= latency + np.uint64(1_000)
    records = np.empty(latency.shape, RECORD)
    records["intended_ns"] = records["sent_ns"] = sent
    records["received_ns"] = sent + latency
    records["slice"] = np.repeat(np.arange(slices), connections)[:, None]
    records["connection"] = np.tile(np.arange(connections), slices)[:, None]
    end = np.repeat(begin + window_ns, connections).astype(np.uint64)[:, None]
    inside = records[records["received_ns"] <= end]
    kept: Records = inside[np.argsort(inside["received_ns"], kind="stable")]
    return kept


def _write_cell(
    run: RunDirectory,
    synthetic: Synthetic,
    model: Model,
    index: int,
    cell_id: str,
    connections: int,
    records: Records,
) -> None:
    folder = run.cell(index, cell_id)
    folder.mkdir(parents=True)
    write_samples(folder / "samples.fbs", records, name=cell_id, drop_first=0.1)
    latency = np.sort(records["received_ns"] - records["sent_ns"])
    slices = synthetic.measure_ns // synthetic.slice_ns
    measured_ns = slices * (synthetic.slice_ns - synthetic.slice_ns // 10)
    count = len(records)
    total = count * (synthetic.warmup_ns + synthetic.measure_ns) // measured_ns
    write_json(
        folder / "status.json",
        {
            "schema": 1,
            "cell": cell_id,
            "verdict": "ok",
            "cause": None,
            "block": index,
            "started_unix_ns": START_UNIX_NS,
            "ended_unix_ns": START_UNIX_NS,
        },
    )
    write_json(
        folder / "load.json",
        {
            "schema": 1,
            "name": cell_id,
            "url": "ws://127.0.0.1:9001/echo",
            "verdict": "ok",
            "cause": None,
            "connections": connections,
            "threads": 1,
            "transport": "epoll",
            "cpu": 1,
            "pacer": {"kind": "closed", "in_flight": 1},
            "payload": {"kind": "binary", "bytes": 108, "file": None},
            "measured_ns": measured_ns,
            "slices": slices,
            "sent": count,
            "received": count,
            "lost": 0,
            "duplicated": 0,
            "out_of_order": 0,
            "wrong": 0,
            "sent_total": total,
            "received_total": total,
            "round_trips_per_s": count / measured_ns * 1e9,
            "bytes_per_s": count * 108 / measured_ns * 1e9,
            "handshakes": connections,
            "handshakes_per_s": 20_000.0,
            "handshake_ns": {},
            "latency_ns": _summary(latency),
            "latency_from_send_ns": _summary(latency),
            "lateness_ns": _summary(np.zeros(count, np.uint64)),
            "warmup": {"bin_ns": 50_000_000, "bins": _warmup_bins(synthetic, latency)},
            "options": {
                "deflate": None,
                "nodelay": True,
                "congestion_control": "cubic",
                "tls": None,
                "subprotocol": None,
            },
            "engine_cpu_ns": measured_ns // 2,
            "engine_stalls": 0,
            "reconnects": 0,
            "interrupted": False,
            "errors": [],
            "warnings": [],
        },
    )
    memory = model.memory_bytes + (model.memory_per_connection_bytes * connections if connections > 1 else 0)
    write_json(
        folder / "resources.json",
        {
            "schema": 1,
            "processes": 1,
            "threads": int(model.options.get("threads", 1)),
            "cpu_ns": total * model.cpu_ns_per_message,
            "run_delay_ns": 1_000_000,
            "wall_ns": synthetic.warmup_ns + synthetic.measure_ns,
            "rss_idle_bytes": model.memory_bytes,
            "rss_connected_bytes": memory,
            "rss_peak_bytes": memory,
            "connections": connections,
            "memory_per_connection_bytes": model.memory_per_connection_bytes if connections > 1 else None,
            "voluntary_switches": total,
            "involuntary_switches": 3,
        },
    )


def _summary(ascending: NDArray[np.uint64]) -> dict[str, Any]:
    """As the engine prints it; ranks by integers, as everywhere."""
    count = len(ascending)
    parts = {"p50": 5000, "p90": 9000, "p95": 9500, "p99": 9900, "p99.9": 9990, "p99.99": 9999}
    return {
        "count": count,
        "min": int(ascending[0]),
        "mean": int(ascending.sum(dtype=np.uint64)) / count,
        **{name: int(ascending[-(-part * count // 10_000) - 1]) for name, part in parts.items()},
        "max": int(ascending[-1]),
    }


def _warmup_bins(synthetic: Synthetic, latency: NDArray[np.uint64]) -> list[dict[str, int]]:
    """Twice as slow at first, warm after three bins."""
    p50 = int(latency[len(latency) // 2])
    bins = synthetic.warmup_ns // 50_000_000
    factors = [200 if k < 3 else 100 + (k * 7 % 3 - 1) for k in range(bins)]
    return [
        {"start_ns": k * 50_000_000, "count": 1_000, "p50": p50 * factor // 100, "p99": p50 * factor // 50}
        for k, factor in enumerate(factors)
    ]


def _environment(index: int, turn: Round, plan: Plan, synthetic: Synthetic) -> dict[str, Any]:
    shares = {plan.cell(cell_id).process: 0.01 for cell_id in turn.cells}
    return {
        "schema": 1,
        "block": index,
        "round": turn.id,
        "steal_share": 0.001,
        "psi_cpu_some_share": 0.2,
        "load_average_1m": 1.5,
        "other_work_share": 0.3,
        "engine_run_delay_ns": 100_000,
        "target_run_delay_share": shares,
        "wall_ns": (synthetic.warmup_ns + synthetic.measure_ns) * len(turn.cells),
        "cpus_awake": turn.cpus_awake,
        "shield": "autogroup −20",
        "pinned": {"targets": [0], "engine": [1]},
    }


def _ceiling(synthetic: Synthetic) -> dict[str, Any]:
    """A raw TCP loop a little faster than the fastest target, whatever the number of connections."""
    fastest_ns = min(model.latency_ns for model in synthetic.models)
    return {
        "schema": 1,
        "results": [
            {
                "connections": connections,
                "in_flight": 1,
                "bytes": 108,
                "round_trips_per_s": 1.25e9 / fastest_ns,
                "latency_ns": {},
            }
            for connections in synthetic.connections
        ],
    }


def _receipt(model: Model) -> dict[str, Any]:
    return {
        "schema": 1,
        "target": model.name,
        "state": "built",
        "reason": None,
        "version": model.version,
        "toolchain": f"{model.language} 1",
        "mode": "release",
        "commands": [["make"]],
        "sources_sha256": "0" * 64,
        "lock_sha256": None,
        "started_unix_ns": START_UNIX_NS,
        "seconds": 1.2,
        "log": None,
        "options": dict(model.options),
    }


def _host() -> dict[str, Any]:
    return {
        "schema": 1,
        "hostname": "laboratory",
        "cpu_model": "Model CPU",
        "cpu_count": 2,
        "kernel": "6.1.0",
        "governor": None,
        "memory_bytes": 8_000_000_000,
        "congestion_control": "cubic",
        "advice": [],
    }
