"""This machine's raw TCP round trips for every load shape of the plan: what no generator or target can
exceed.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from feedbench.errors import EngineError
from feedbench.host.pinning import Pinning
from feedbench.host.process import ending, own_preparation
from feedbench.load import ENGINE, STAMP, STAMP_ANSWER_BYTES, Burst, Closed, Load
from feedbench.paths import SCHEMA
from feedbench.plan import Condition

DURATION_S = 1


class Shape(NamedTuple):
    """What a raw loop has in common with a load."""

    in_flight: int
    bytes: int
    connections: int


def shapes(conditions: Iterable[Condition], *, root: Path) -> tuple[Shape, ...]:
    """The distinct shapes of the loads that the engine drives, in order of size."""
    loads = [condition.load for condition in conditions if condition.load.client == ENGINE]
    return tuple(sorted({shape(load, root=root) for load in loads}))


def shape(load: Load, *, root: Path) -> Shape:
    """A paced load keeps one message under way for its ceiling: the rate is the scenario's, not the
    machine's.
    """
    match load.pacer:
        case Closed(in_flight=in_flight):
            depth = in_flight
        case Burst(messages=messages):
            depth = messages
        case _:
            depth = 1
    return Shape(in_flight=depth, bytes=_size(load, root=root), connections=load.connections)


def _size(load: Load, *, root: Path) -> int:
    if load.payload.kind == STAMP:
        return STAMP_ANSWER_BYTES
    if load.payload.file is not None:
        return (root / load.payload.file).stat().st_size
    return load.payload.bytes or 0


def measure_ceiling(
    engine: Path, wanted: Iterable[Shape], *, pinning: Pinning, tick: Callable[[], None]
) -> dict[str, Any]:
    """ceiling.json: about a second for each shape."""
    grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
    for entry in wanted:
        grouped[entry.in_flight, entry.bytes].append(entry.connections)
    results: list[Any] = []
    for (in_flight, size), connections in grouped.items():
        tick()
        results += _call(engine, in_flight, size, connections, pinning)
    return {"schema": SCHEMA, "results": results}


def _call(engine: Path, in_flight: int, size: int, connections: list[int], pinning: Pinning) -> list[Any]:
    command = [str(engine), "ceiling", "--connections", ",".join(map(str, connections))]
    command += ["--in-flight", str(in_flight), "--size", str(size), "--duration", f"{DURATION_S}s", "--json"]
    if pinning.targets and pinning.engine:
        command += ["--server-cpu", str(pinning.targets[0]), "--cpu", str(pinning.engine[0])]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=len(connections) * (DURATION_S + 5) + 10,
            process_group=0,
            preexec_fn=own_preparation(),
        )
        if done.returncode != 0:
            said = "".join(done.stderr.strip().splitlines()[-1:])
            raise EngineError(
                f"the ceiling ended with {ending(done.returncode)}, it said: {said}", where=str(engine)
            )
        results: list[Any] = json.loads(done.stdout)["results"]
    except OSError as error:
        raise EngineError.not_started(engine, error) from error
    except subprocess.TimeoutExpired as error:
        raise EngineError("the ceiling did not end in time", where=str(engine)) from error
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise EngineError("the ceiling printed no result", where=str(engine)) from error
    return results
