"""Keeps CPUs from sleeping while something is measured.

On an idle virtual machine a round trip on one connection measures the wake-up of a sleeping virtual CPU: the
order of two servers came out reversed, each way with p < 0.01. A spinner of idle priority on each CPU keeps
it awake and gives way at once to anything else of its own scheduling group. Whether it ran is part of the
record.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from feedbench.errors import EngineError
from feedbench.host.process import end_process, own_preparation


@contextmanager
def cpus_awake(engine: Path, cpus: Sequence[int], *, wanted: bool = True) -> Iterator[bool]:
    """One spinner per CPU while the block lasts; yields whether the CPUs are kept awake."""
    if not wanted:
        yield False
        return
    spinners: list[subprocess.Popen[bytes]] = []
    try:
        for cpu in cpus:
            spinners.append(_start(engine, cpu))
        yield True
    finally:
        for spinner in spinners:
            end_process(spinner, first=signal.SIGTERM, grace_s=1.0)


def _start(engine: Path, cpu: int) -> subprocess.Popen[bytes]:
    try:
        spinner = subprocess.Popen(
            [str(engine), "spin", "--cpu", str(cpu)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=own_preparation(),
        )
    except OSError as error:
        raise EngineError(
            f"the spinner could not be started: {error.strerror}", where=str(engine), hint="try: make setup"
        ) from error
    try:
        _, complaint = spinner.communicate(timeout=0.05)
    except subprocess.TimeoutExpired:
        return spinner
    last = complaint.decode(errors="replace").strip().splitlines()[-1:]
    raise EngineError(
        f"the spinner for CPU {cpu} ended at once with status {spinner.returncode}: {''.join(last)}",
        where=str(engine),
        hint="cpus_awake = false measures with CPUs that sleep",
    )
