"""A network path on this machine: two namespaces, and a delay, jitter, losses and a rate between them.

The emulator is crates/path: not every kernel has netem. The path goes with the emulator's process.
"""

from __future__ import annotations

import json
import re
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import EngineError
from feedbench.host.process import end_process, own_preparation
from feedbench.launch import log_tail
from feedbench.units import format_duration, parse_duration

# How a scenario says that there is nothing between two processes but loopback.
NO_PATH = "none"

READY_DEADLINE_S = 30.0
VERIFY_DEADLINE_S = 120.0
END_GRACE_S = 5.0
NOT_AS_ASKED = 1  # status of `feedbench-path verify` with a verdict on stdout

_RATE = re.compile(r"(\d+(?:\.\d+)?)(k|M|G)bit")
_RATE_UNITS = {"k": 10**3, "M": 10**6, "G": 10**9}
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")


@dataclass(frozen=True)
class PathShape:
    """What the path does to packets, in each direction; `congestion` is for connections at both ends."""

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    rate_bits_per_s: int | None = None
    congestion: str | None = None

    def __post_init__(self) -> None:
        if self.jitter_ns > self.delay_ns:
            jitter, delay = format_duration(self.jitter_ns), format_duration(self.delay_ns)
            raise ValueError(f"a jitter of {jitter} is more than the delay of {delay}")

    @classmethod
    def parse(cls, text: str) -> PathShape | None:
        """`delay=20ms,jitter=2ms,loss=1%,rate=100Mbit,congestion=bbr`, each part optional; `none` is None.
        ValueError when it is neither.
        """
        if text == NO_PATH:
            return None
        known = ("delay", "jitter", "loss", "rate", "congestion")
        given: dict[str, str] = {}
        for part in text.split(","):
            name, _, value = part.partition("=")
            if name not in known or not value:
                parts = ", ".join(known)
                raise ValueError(f'"{part}" is no part of a network, which is {NO_PATH}, or has {parts}')
            given[name] = value
        return cls(
            delay_ns=parse_duration(given.get("delay", "0ms")),
            jitter_ns=parse_duration(given.get("jitter", "0ms")),
            loss=parse_share(given.get("loss", "0%")),
            rate_bits_per_s=parse_rate(given["rate"]) if "rate" in given else None,
            congestion=given.get("congestion"),
        )

    def arguments(self) -> list[str]:
        """For feedbench-path."""
        arguments = ["--delay-ns", str(self.delay_ns), "--jitter-ns", str(self.jitter_ns)]
        arguments += ["--loss", str(self.loss)]
        if self.rate_bits_per_s is not None:
            arguments += ["--rate-bits-per-s", str(self.rate_bits_per_s)]
        if self.congestion is not None:
            arguments += ["--congestion", self.congestion]
        return arguments


@dataclass(frozen=True)
class PathEnd:
    """`namespace` is what setns(2) and `nsenter --net=` take, for as long as the path is there."""

    namespace: Path
    address: str


@contextmanager
def lay_path(binary: Path, shape: PathShape, *, seed: int, log: Path) -> Iterator[tuple[PathEnd, PathEnd]]:
    """The two ends of a path, for as long as the context lasts. EngineError when it can't be laid."""
    with log.open("wb") as said:
        try:
            process = subprocess.Popen(
                [str(binary), "run", *shape.arguments(), "--seed", str(seed)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                process_group=0,
                preexec_fn=own_preparation(),
            )
        except OSError as error:
            raise EngineError.not_started(binary, error) from error
    try:
        yield _ends(process, log)
    finally:
        end_process(process, first=signal.SIGTERM, grace_s=END_GRACE_S)


def verify_path(binary: Path, shape: PathShape) -> Mapping[str, Any]:
    """Lays such a path, measures it and takes it up again: `asked`, `found`, `departures` (empty when all is
    as asked). EngineError when it can't be laid.
    """
    try:
        result = subprocess.run(
            [str(binary), "verify", *shape.arguments()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERIFY_DEADLINE_S,
            preexec_fn=own_preparation(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"the path was not measured within {VERIFY_DEADLINE_S:g} s", where=str(binary)
        ) from error
    except OSError as error:
        raise EngineError.not_started(binary, error) from error
    if not result.stdout or result.returncode not in (0, NOT_AS_ASKED):
        raise _not_laid(result.stderr.decode(errors="replace").strip())
    document: Mapping[str, Any] = json.loads(result.stdout)
    return document


def parse_rate(text: str) -> int:
    """`"100Mbit"` → 100,000,000 bits per second. ValueError when it is none."""
    match = _RATE.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f'"{text}" is no rate: write a number and kbit, Mbit or Gbit')
    return round(float(match[1]) * _RATE_UNITS[match[2]])


def parse_share(text: str) -> float:
    """`"1%"` → 0.01. ValueError unless it is at least 0 % and below 100 %."""
    match = _SHARE.fullmatch(text)
    if match is None or float(match[1]) >= 100:
        raise ValueError(f'"{text}" is no share of packets: write a number below 100 and %')
    return float(match[1]) / 100


def _ends(process: subprocess.Popen[bytes], log: Path) -> tuple[PathEnd, PathEnd]:
    assert process.stdout is not None
    line = b""
    if select.select([process.stdout], [], [], READY_DEADLINE_S)[0]:
        line = process.stdout.readline()
    if not line:
        raise _not_laid(log_tail(log))
    first, second = (PathEnd(Path(end["namespace"]), end["address"]) for end in json.loads(line)["ends"])
    return first, second


def _not_laid(said: str) -> EngineError:
    return EngineError("the path could not be laid", hint=said or "feedbench-path said nothing")
