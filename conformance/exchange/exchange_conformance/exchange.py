"""Starts the simulated exchange and ends it, so that its ledger is whole."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from exchange_conformance.collect import Urls
from exchange_conformance.errors import ConformanceError

READY_S = 60.0
# A client that waits for a CPU on a busy machine is not a slow consumer.
QUEUE = "64MiB"
STOP_S = 30.0


@dataclass(frozen=True)
class Market:
    """What is traded, and how fast."""

    personalities: tuple[str, ...]
    symbols: int
    rate_per_s: float
    seed: int
    options: tuple[str, ...] = ()
    """More options of `feedbench exchange`, such as planted faults."""

    def arguments(self, ledger: Path) -> list[str]:
        """Of `feedbench exchange`."""
        return [
            "--personality",
            ",".join(self.personalities),
            "--symbols",
            str(self.symbols),
            "--rate",
            str(self.rate_per_s),
            "--seed",
            str(self.seed),
            "--ledger",
            str(ledger),
            "--queue",
            QUEUE,
            *self.options,
        ]


@contextmanager
def exchange(command: Sequence[str], market: Market, *, ledger: Path, log: Path) -> Iterator[Urls]:
    """A running exchange on free ports, for as long as the context lasts."""
    with serving(command, market.arguments(ledger), log=log) as urls:
        yield urls


@contextmanager
def serving(command: Sequence[str], arguments: Sequence[str], *, log: Path) -> Iterator[Urls]:
    """`feedbench exchange` with any arguments, likewise."""
    whole = [*command, "--json", "--port", "0", *arguments]
    with log.open("wb") as errors:
        process = subprocess.Popen(whole, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    try:
        yield _urls(process, log)
    finally:
        _stop(process)


def run_in_namespace(
    command: Sequence[str], market: Market, inner: Sequence[str], *, ledger: Path, log: Path
) -> None:
    """Runs `inner` where the exchanges' real names lead to the simulator; ConformanceError if that fails."""
    arguments = [*command, *market.arguments(ledger), "--namespace", "--", *inner]
    with log.open("wb") as output:
        status = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=output, check=False).returncode
    if status != 0:
        raise ConformanceError(f"the clients in the namespace ended with status {status} (see {log})")


def _urls(process: subprocess.Popen[bytes], log: Path) -> Urls:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], READY_S)
    line = process.stdout.readline() if ready else b""
    if not line:
        said = log.read_text(errors="replace").strip().splitlines()
        raise ConformanceError(
            f"the exchange did not start: {said[-1] if said else 'without a word'} (see {log})"
        )
    urls: Urls = json.loads(line)["urls"]
    return urls


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def default_command(root: Path) -> list[str]:
    """`FEEDBENCH_EXCHANGE` (a program) or this checkout's build."""
    given = os.environ.get("FEEDBENCH_EXCHANGE")
    builds = [root / "target" / mode / "feedbench-exchange" for mode in ("release", "debug")]
    programs = [Path(given)] if given else builds
    program = next((program for program in programs if program.exists()), None)
    if program is None:
        raise ConformanceError(f"{programs[0]} is not there: `make conformance` builds it")
    return [str(program)]
