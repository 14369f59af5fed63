"""One experiment of a capacity search: a load for a moment, by the engine, and whether it was answered in
time.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from feedbench.analyze.quantiles import minimum_count, parse_quantile
from feedbench.errors import EngineError, FeedbenchError
from feedbench.host.process import ending, own_preparation
from feedbench.load import Closed, Constant, Load, pacer_to_json
from feedbench.paths import SCHEMA

# Enough under way to keep any server busy, few enough that its queue is not what is measured.
SATURATING_IN_FLIGHT = 8
BRIEF_S, BRIEF_WARMUP_S, BRIEF_REPEATS = 0.3, 0.1, 3
GRACE_S = 60.0


@dataclass(frozen=True)
class Probe:
    """Where and for how long each experiment runs."""

    engine: Path
    url: str
    load: Load
    measure_s: float
    warmup_s: float
    cpu: int | None = None
    authority_file: Path | None = None

    def measure(self, load: Load) -> Mapping[str, Any]:
        """The engine's load.json for this load."""
        request = {
            "schema": SCHEMA,
            "warmup_ns": round(self.warmup_s * 1e9),
            "measure_ns": round(self.measure_s * 1e9),
            "cpu": self.cpu,
            "transport": load.transport,
            "targets": [
                {
                    "name": self.url,
                    "url": self.url,
                    "connections": load.connections,
                    "payload": asdict(load.payload),
                    "pacer": pacer_to_json(load.pacer),
                    "offer_deflate": load.offer_deflate,
                    "ca_file": None if self.authority_file is None else str(self.authority_file),
                    "timeout_ns": load.timeout_ns,
                    "fragments": load.fragments,
                    "ping_between": load.ping_between,
                }
            ],
        }
        try:
            done = subprocess.run(
                [str(self.engine), "load", "--request", "/dev/stdin", "--json"],
                input=json.dumps(request),
                capture_output=True,
                text=True,
                check=False,
                timeout=self.measure_s + self.warmup_s + load.timeout_ns / 1e9 + GRACE_S,
                preexec_fn=own_preparation(),
            )
            result: Mapping[str, Any] = json.loads(done.stdout)
        except OSError as error:
            raise EngineError.not_started(self.engine, error) from error
        except subprocess.TimeoutExpired as error:
            raise EngineError("a load did not end in time", where=str(self.engine)) from error
        except json.JSONDecodeError as error:
            said = "".join(done.stderr.strip().splitlines()[-1:])
            raise EngineError(
                f"a load ended with {ending(done.returncode)} and no result, it said: {said}",
                where=str(self.engine),
            ) from error
        return result


@dataclass(frozen=True)
class Limit:
    """What "in time" means: this quantile of the latency below `below_ns`; None asks only for the rate."""

    quantile: str
    below_ns: int | None

    def kept(self, result: Mapping[str, Any]) -> bool:
        """A failed load and a missed rate are not in time. FeedbenchError when it looks in time but too few
        messages were answered to say so.
        """
        if result["verdict"] != "ok":
            return False
        if self.below_ns is None:
            return True
        latency = result["latency_ns"]
        if latency[self.quantile] is None or latency[self.quantile] >= self.below_ns:
            return False
        needed = minimum_count(parse_quantile(self.quantile))
        if latency["count"] < needed:
            raise FeedbenchError(
                f"{latency['count']} messages were answered, {self.quantile} needs {needed}",
                where=str(result["url"]),
                hint="measure longer: --duration",
            )
        return True


def clients_experiment(probe: Probe, limit: Limit) -> Callable[[int], bool]:
    """Load: how many clients that each wait for their answer before they send again."""

    def holds(clients: int) -> bool:
        return limit.kept(probe.measure(replace(probe.load, connections=clients)))

    return holds


def rate_experiment(probe: Probe, limit: Limit) -> Callable[[int], bool]:
    """Load: how many messages a second over all connections, whatever the answers do."""

    def holds(rate_per_s: int) -> bool:
        return limit.kept(probe.measure(replace(probe.load, pacer=Constant(rate_per_s=rate_per_s))))

    return holds


def brief_capacity(probe: Probe) -> float:
    """Round trips per second with the server kept busy, in about a second: what a share of a target's own
    capacity (`rate = "50%"`) is a share of.

    The median of three short closed loops. EngineError when not one of them was answered rightly.
    """
    saturating = replace(probe.load, pacer=Closed(in_flight=SATURATING_IN_FLIGHT))
    brief = replace(probe, measure_s=BRIEF_S, warmup_s=BRIEF_WARMUP_S)
    results = [brief.measure(saturating) for _ in range(BRIEF_REPEATS)]
    rates = [float(result["round_trips_per_s"]) for result in results if result["verdict"] == "ok"]
    if not rates:
        raise EngineError(f"it can't be measured: {results[0]['cause']}", where=probe.url)
    return median(rates)
