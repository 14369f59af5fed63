"""Many subscribers as one process: `feedbench-engine subscribe`."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import EngineError
from feedbench.host.process import end_process, own_preparation
from feedbench.launch import log_tail

# What is on its way when they are asked to end is waited for; `subscribe` gives up after ten seconds.
END_DEADLINE_S = 30.0


@dataclass(frozen=True)
class Subscribers:
    """A running process, all of whose subscribers are connected, and the file that it writes at its end."""

    process: subprocess.Popen[bytes]
    receipts: Path
    log: Path

    def finish(self) -> Mapping[str, Any]:
        """Asks them to end once nothing comes any more; what they say of it. EngineError if nothing."""
        self.process.send_signal(signal.SIGTERM)
        try:
            out, _ = self.process.communicate(timeout=END_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            raise EngineError("the subscribers did not end", hint=f"see {self.log}") from error
        try:
            document: Mapping[str, Any] = json.loads(out.splitlines()[-1])
        except (IndexError, ValueError) as error:
            raise EngineError("the subscribers left no summary", hint=log_tail(self.log) or None) from error
        return document


@contextmanager
def run_subscribers(
    engine: Path,
    url: str,
    *,
    count: int,
    receipts: Path,
    log: Path,
    options: Sequence[str] = (),
    cpus: Sequence[int] = (),
    deadline_s: float,
) -> Iterator[Subscribers]:
    """Yields when all are connected; EngineError when they are not in time."""
    command = [str(engine), "subscribe", url, "--json", "--subscribers", str(count)]
    command += ["--output", str(receipts.resolve()), *options]
    with log.open("wb") as said:
        try:
            process = subprocess.Popen(
                command,
                bufsize=0,  # `communicate` would not see what a buffer had read beyond the first line
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                process_group=0,
                preexec_fn=own_preparation(cpus=cpus),
            )
        except OSError as error:
            raise EngineError.not_started(engine, error) from error
    try:
        _wait_connected(process, count, log, deadline_s)
        yield Subscribers(process, receipts, log)
    finally:
        end_process(process, first=signal.SIGTERM, grace_s=2.0)


def _wait_connected(process: subprocess.Popen[bytes], count: int, log: Path, deadline_s: float) -> None:
    assert process.stdout is not None
    line = b""
    if select.select([process.stdout], [], [], deadline_s)[0]:
        line = process.stdout.readline()
    if b'"connected"' not in line:
        raise EngineError(
            f"not all of {count} subscribers connected within {deadline_s:g} s",
            hint=log_tail(log) or "they said nothing",
        )
