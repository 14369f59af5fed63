"""Whether each runtime's clock is the one that feedbench reads: stamp here, stamp there, stamp here again.

A child's stamp outside the two around it is a violation: one is enough to show that the two clocks do not
share an epoch (a time namespace, a runtime that counts from its own start), and one-way times across them
would be wrong.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from feedbench.host.process import own_preparation

SOURCES = Path(__file__).parent / "clocks"
Clock = Callable[[], int]


@dataclass(frozen=True)
class Runtime:
    """A runtime's stamp program: `compiled` and `command` may name {source} and {program}."""

    name: str
    clock: str
    tool: str
    source: str
    command: tuple[str, ...]
    compiled: tuple[str, ...] = ()


RUNTIMES = (
    Runtime(
        "C", "CLOCK_MONOTONIC", "cc", "stamp.c", ("{program}",), ("cc", "-O2", "-o", "{program}", "{source}")
    ),
    Runtime(
        "Rust",
        "CLOCK_MONOTONIC",
        "rustc",
        "stamp.rs",
        ("{program}",),
        ("rustc", "-O", "-o", "{program}", "{source}"),
    ),
    Runtime("Python", "time.perf_counter_ns", sys.executable, "stamp.py", (sys.executable, "{source}")),
    Runtime("Node", "process.hrtime.bigint", "node", "stamp.js", ("node", "{source}")),
    Runtime("Java", "System.nanoTime", "java", "Stamp.java", ("java", "-Xshare:auto", "{source}")),
    Runtime(
        "Go",
        "runtime.nanotime",
        "go",
        "stamp.go",
        ("{program}",),
        ("go", "build", "-o", "{program}", "{source}"),
    ),
)


@dataclass(frozen=True)
class Bracket:
    """The outcome for one runtime. Bounds enclose (its clock − ours) in ns; None when it was skipped."""

    runtime: str
    clock: str
    rounds: int
    violations: int
    offset_least_ns: int | None
    offset_most_ns: int | None
    skipped: str | None = None


def judge(runtime: Runtime, stamps: Sequence[tuple[int, int, int]]) -> Bracket:
    """From (before, child, after) triples: how many children's stamps lay outside, and what offset all allow.

    A true offset d gives before + d ≤ child ≤ after + d in every triple, so each narrows the bounds.
    """
    return Bracket(
        runtime=runtime.name,
        clock=runtime.clock,
        rounds=len(stamps),
        violations=sum(not before <= child <= after for before, child, after in stamps),
        offset_least_ns=max((child - after for _, child, after in stamps), default=None),
        offset_most_ns=min((child - before for before, child, _ in stamps), default=None),
    )


def bracket_runtime(
    runtime: Runtime, *, rounds: int, scratch: Path, clock: Clock = time.monotonic_ns
) -> Bracket:
    """Runs the test for one runtime, or says why it could not."""
    if shutil.which(runtime.tool) is None:
        return _skipped(runtime, f"{runtime.tool} is not on this machine")
    source = SOURCES / runtime.source
    program = scratch / f"stamp-{runtime.name.lower()}"
    place = {"source": str(source), "program": str(program)}
    if runtime.compiled and not _up_to_date(program, source):
        scratch.mkdir(parents=True, exist_ok=True)
        command = [word.format(**place) for word in runtime.compiled]
        built = subprocess.run(command, capture_output=True, text=True, check=False, cwd=scratch)
        if built.returncode != 0:
            return _skipped(runtime, f"{runtime.tool}: {''.join(built.stderr.strip().splitlines()[-1:])}")
    try:
        return judge(runtime, _exchange([word.format(**place) for word in runtime.command], rounds, clock))
    except (OSError, ValueError) as error:
        return _skipped(runtime, f"its stamp program failed: {error}")


def _up_to_date(program: Path, source: Path) -> bool:
    return program.exists() and program.stat().st_mtime >= source.stat().st_mtime


def _skipped(runtime: Runtime, reason: str) -> Bracket:
    return Bracket(runtime.name, runtime.clock, 0, 0, None, None, skipped=reason)


def _exchange(command: list[str], rounds: int, clock: Clock) -> list[tuple[int, int, int]]:
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        preexec_fn=own_preparation(),
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            _ask(child.stdin, child.stdout, clock)  # the first answer carries the runtime's start
            return [_ask(child.stdin, child.stdout, clock) for _ in range(rounds)]
        finally:
            child.kill()


def _ask(question: IO[bytes], answers: IO[bytes], clock: Clock) -> tuple[int, int, int]:
    before = clock()
    question.write(b"\n")
    answer = answers.readline()
    after = clock()
    if not answer.endswith(b"\n"):
        raise ValueError("it ended without an answer")
    return before, int(answer), after
