"""A target driven by a library's own echo client instead of the engine, recorded in the engine's shape.

The client runs warm-up and measuring in one process, since a JIT's warm-up dies with it; its samples are cut
to the measured part afterwards.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedbench.commands import environment, fill
from feedbench.errors import RunDirectoryError, TargetError
from feedbench.host.process import end_process, ending, own_preparation
from feedbench.launch import log_tail
from feedbench.load import Load, Payload, pacer_to_json
from feedbench.paths import SCHEMA, Project, read_json, write_json
from feedbench.plan import Protocol
from feedbench.run.resources import children_cpu_ns
from feedbench.run.status import UNSUPPORTED_STATUS, Outcome
from feedbench.run.watch import Alarm, Stoppable, Watched, watch
from feedbench.samples import Nanoseconds, Records, read_samples, write_samples
from feedbench.target import Target

RANKS = {"p50": 5_000, "p90": 9_000, "p95": 9_500, "p99": 9_900, "p99.9": 9_990, "p99.99": 9_999}  # of 10,000
WARMUP_BIN_NS = 50_000_000
GRACE_NS = 15_000_000_000  # connecting, and writing the samples after the run
TEXT = b"The quick brown fox jumps over the lazy dog. "


@dataclass(frozen=True)
class ClientCall:
    """How a client's run went: who died meanwhile, and why it failed; the outcome is None when it gave its
    samples.
    """

    watched: Watched
    outcome: Outcome | None
    cpu_ns: int


def payload_file(payload: Payload, *, root: Path, folder: Path) -> Path:
    """The message as a file: the scenario's own, or one with as many bytes as it says."""
    if payload.file is not None:
        return root / payload.file
    path = folder / "payload"
    path.write_bytes(payload_content(payload.kind, payload.bytes or 0))
    return path


def payload_content(kind: str, size: int) -> bytes:
    """`size` bytes of that kind; a JSON text too short for its frame is as short as JSON allows."""
    match kind:
        case "binary":
            return (bytes(range(256)) * (size // 256 + 1))[:size]
        case "json":
            head, tail = b'{"c":0,"x":"', b'"}'
            return head + b"x" * max(0, size - len(head) - len(tail)) + tail
        case _:
            return (TEXT * (size // len(TEXT) + 1))[:size]


def call_client(
    client: Target,
    load: Load,
    protocol: Protocol,
    *,
    url: str,
    folder: Path,
    log: Path,
    project: Project,
    cpus: tuple[int, ...],
    bystanders: Mapping[str, subprocess.Popen[bytes]],
    interruption: Stoppable,
    alarm: Alarm | None,
    tick: Callable[[], None],
) -> ClientCall:
    """Runs the client and leaves samples-whole.fbs and summary.json in `folder`, for `record` to work on."""
    if client.echo_client_command is None:
        return ClientCall(Watched(), Outcome("unsupported", f"{client.name} has no echo client"), 0)
    duration_ns = protocol.warmup_ns + protocol.measure_ns
    command = [
        *fill(client.echo_client_command, target=client, project=project),
        *("--url", url, "--connections", str(load.connections), "--duration-ns", str(duration_ns)),
        *("--payload-file", str(payload_file(load.payload, root=project.root, folder=folder).resolve())),
        *(["--binary"] if load.payload.kind in ("binary", "file") else []),
        *("--samples", str((folder / "samples-whole.fbs").resolve())),
        *("--summary", str((folder / "summary.json").resolve())),
    ]
    used_before = children_cpu_ns()
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=client.folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=own_preparation(cpus=cpus),
            )
        except OSError as error:
            cause = f"cannot start the client {command[0]}: {error.strerror}"
            return ClientCall(Watched(), Outcome("failed", cause), 0)
    try:
        watched = watch(
            process,
            bystanders=bystanders,
            interruption=interruption,
            deadline_ns=2 * duration_ns + GRACE_NS,
            alarm=alarm,
            tick=tick,
        )
    finally:
        end_process(process, first=signal.SIGKILL, grace_s=1.0)
    outcome = _client_outcome(process.returncode, watched, log)
    return ClientCall(watched, outcome, children_cpu_ns() - used_before)


def _client_outcome(status: int, watched: Watched, log: Path) -> Outcome | None:
    if watched.interrupted:
        return Outcome("skipped", "interrupted before it was measured whole")
    if watched.overdue:
        return Outcome("failed", "the client did not end in time; does the server answer?")
    if status == 0:
        return None
    said = log_tail(log)
    cause = f"the client ended with {ending(status)}" + (f", it said: {said}" if said else "")
    return Outcome("unsupported" if status == UNSUPPORTED_STATUS else "failed", cause)


def record(
    folder: Path, *, name: str, url: str, load: Load, protocol: Protocol, cpu: int | None, cpu_ns: int
) -> dict[str, Any]:
    """Cuts the samples to the measured part, writes samples.fbs and load.json, and returns the latter.

    TargetError when the client's files are missing or damaged.
    """
    try:
        summary = read_json(folder / "summary.json", needed_for="know what the client sent")
        whole = read_samples(folder / "samples-whole.fbs")
        counts = {key: int(summary[key]) for key in ("sent", "received", "wrong")}
    except (RunDirectoryError, KeyError, TypeError, ValueError) as error:
        raise TargetError(f"the client's result can't be used: {error}", where=name) from error
    if not whole.complete:
        raise TargetError(f"the client's sample file is {whole.ending.value}", where=name)
    warm, measured = split(whole.records, protocol.warmup_ns, protocol.measure_ns)
    write_samples(folder / "samples.fbs", measured, name=name)
    document = load_document(
        measured, warm, counts, name=name, url=url, load=load, protocol=protocol, cpu=cpu, cpu_ns=cpu_ns
    )
    write_json(folder / "load.json", document)
    (folder / "samples-whole.fbs").unlink()
    return document


def split(records: Records, warmup_ns: int, measure_ns: int) -> tuple[Records, Records]:
    """(warm-up, measured): by intended send time from the first message on; what was sent after the end is
    left out.
    """
    if len(records) == 0:
        return records, records
    since_ns = records["intended_ns"] - records["intended_ns"].min()
    warm = since_ns < warmup_ns
    return records[warm], records[~warm & (since_ns < warmup_ns + measure_ns)]


def load_document(
    measured: Records,
    warm: Records,
    counts: Mapping[str, int],
    *,
    name: str,
    url: str,
    load: Load,
    protocol: Protocol,
    cpu: int | None,
    cpu_ns: int,
) -> dict[str, Any]:
    """load.json in the engine's shape; what only the engine knows is null."""
    sent, received = counts["sent"], counts["received"]
    seconds = protocol.measure_ns / 1e9
    payload_bytes = load.payload.bytes or 0
    return {
        "schema": SCHEMA,
        "name": name,
        "url": url,
        "verdict": "ok" if len(measured) else "failed",
        "cause": None if len(measured) else "no message was answered in the measured part",
        "connections": load.connections,
        "threads": 1,
        "transport": "own client",
        "cpu": cpu,
        "pacer": pacer_to_json(load.pacer),
        "payload": asdict(load.payload),
        "measured_ns": protocol.measure_ns,
        "slices": 1,
        "sent": len(measured),
        "received": len(measured),
        "lost": max(0, sent - received),
        "duplicated": 0,
        "out_of_order": 0,
        "wrong": counts["wrong"],
        "sent_total": sent,
        "received_total": received,
        "round_trips_per_s": len(measured) / seconds,
        "bytes_per_s": len(measured) * payload_bytes / seconds,
        "handshakes": load.connections,
        "handshakes_per_s": None,
        "handshake_ns": None,
        "latency_ns": summarise(measured["received_ns"] - measured["intended_ns"]),
        "latency_from_send_ns": summarise(measured["received_ns"] - measured["sent_ns"]),
        "lateness_ns": summarise(measured["sent_ns"] - measured["intended_ns"]),
        "warmup": {"bin_ns": WARMUP_BIN_NS, "bins": warmup_bins(warm)},
        "options": {},
        "engine_cpu_ns": cpu_ns,
        "engine_stalls": None,
        "reconnects": 0,
        "interrupted": False,
        "errors": [],
        "warnings": [
            {"code": "own_client", "text": "The client's own work is inside these latencies."},
            {"code": "closed_loop", "text": "A stall delays the next message too, and so counts only once."},
        ],
    }


def summarise(values_ns: Nanoseconds | NDArray[np.int64]) -> dict[str, int | float | None]:
    """count, min, mean, nearest-rank quantiles and max; all but the count are None without a value."""
    ordered = np.sort(values_ns)
    count = len(ordered)
    if count == 0:
        return {"count": 0, "min": None, "mean": None, **dict.fromkeys(RANKS), "max": None}
    quantiles = {name: int(ordered[-(-count * rank // 10_000) - 1]) for name, rank in RANKS.items()}
    mean = int(ordered.sum(dtype=np.int64)) / count  # signed: the age of what was stamped early is negative
    return {"count": count, "min": int(ordered[0]), "mean": mean, **quantiles, "max": int(ordered[-1])}


def warmup_bins(warm: Records) -> list[dict[str, int | None]]:
    """The warm-up in bins of 50 ms by intended send time, for finding where it settles."""
    if len(warm) == 0:
        return []
    since_ns = warm["intended_ns"] - warm["intended_ns"].min()
    latency_ns = warm["received_ns"] - warm["intended_ns"]
    bins = []
    for index in range(int(since_ns.max()) // WARMUP_BIN_NS + 1):
        inside = summarise(latency_ns[since_ns // WARMUP_BIN_NS == index])
        bins.append(
            {
                "start_ns": index * WARMUP_BIN_NS,
                "count": int(inside["count"] or 0),
                "p50": _whole(inside["p50"]),
                "p99": _whole(inside["p99"]),
            }
        )
    return bins


def _whole(value: int | float | None) -> int | None:
    return None if value is None else int(value)
