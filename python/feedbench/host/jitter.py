"""How long a CPU stops serving a loop that never sleeps, asked of the engine's `jitter` command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from feedbench.errors import EngineError


def measure_jitter(engine: Path, *, cpu: int, duration_s: float) -> dict[str, Any]:
    """The engine's object for one CPU: gaps over 1 µs, what was lost, the longest."""
    command = [
        str(engine),
        "jitter",
        "--cpu",
        str(cpu),
        "--duration",
        f"{round(duration_s * 1000)}ms",
        "--json",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=duration_s + 10, check=False)
        if done.returncode != 0:
            complaint = "".join(done.stderr.strip().splitlines()[-1:])
            raise EngineError(f"jitter ended with status {done.returncode}: {complaint}", where=str(engine))
        document: dict[str, Any] = json.loads(done.stdout)
    except OSError as error:
        raise EngineError.not_started(engine, error) from error
    except subprocess.TimeoutExpired as error:
        raise EngineError("jitter did not end in time", where=str(engine)) from error
    except json.JSONDecodeError as error:
        raise EngineError("jitter printed no JSON", where=str(engine)) from error
    return document
