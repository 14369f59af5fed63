"""Stamps of what an exchange sends on the loopback device, by feedbench-wire-stamps while a context lasts."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import EngineError, FeedbenchError
from feedbench.host.process import end_process, has_ended, own_preparation
from feedbench.launch import UNSUPPORTED_STATUS, log_tail

READY_DEADLINE_S = 30.0
# After SIGTERM it reads what the kernel still has for it.
END_GRACE_S = 60.0


class CaptureUnavailableError(FeedbenchError):
    """This process may not see packets, or the kernel has no ring for them; all else can be measured."""


@dataclass
class Capture:
    """Files go to `folder`. `summary` is what it says at its end: packets, those dropped and cut, how well
    the clocks are known.
    """

    binary: Path
    folder: Path
    summary: Mapping[str, Any] | None = None

    @contextmanager
    def watch(self, port: int) -> Iterator[None]:
        """Whatever connects to `port` while the context lasts.

        CaptureUnavailableError without the right to capture, EngineError when it breaks.
        """
        log = self.folder / "wire.log"
        with log.open("wb") as said:
            try:
                process = subprocess.Popen(
                    [str(self.binary), "--port", str(port), "--out", str(self.folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    process_group=0,
                    preexec_fn=own_preparation(),
                )
            except OSError as error:
                raise EngineError.not_started(self.binary, error) from error
        try:
            self._wait_ready(process, log)
            yield
            process.send_signal(signal.SIGTERM)
            self.summary = self._read_summary(process, log)
        finally:
            end_process(process, first=signal.SIGKILL, grace_s=1.0)

    def connection(self) -> Path:
        """The stamps of the only connection; EngineError when there is not just one, or not all of it."""
        assert self.summary is not None, "it has ended"
        connections = self.summary["connections"]
        if len(connections) != 1:
            raise EngineError(f"{len(connections)} connections were captured instead of one")
        if trouble := connections[0]["trouble"]:
            raise EngineError(f"the connection could not be followed on the wire: {trouble}")
        return Path(connections[0]["file"])

    def _wait_ready(self, process: subprocess.Popen[bytes], log: Path) -> None:
        assert process.stdout is not None
        if select.select([process.stdout], [], [], READY_DEADLINE_S)[0] and process.stdout.readline():
            return
        if has_ended(process, within_s=END_GRACE_S) and process.wait() == UNSUPPORTED_STATUS:
            raise CaptureUnavailableError(log_tail(log))
        said = log_tail(log) or "it said nothing"
        raise EngineError("it did not start", where=str(self.binary), hint=said)

    def _read_summary(self, process: subprocess.Popen[bytes], log: Path) -> Mapping[str, Any]:
        try:
            document: Mapping[str, Any] = json.loads(process.communicate(timeout=END_GRACE_S)[0])
        except (ValueError, subprocess.TimeoutExpired) as error:
            said = log_tail(log) or "it said nothing"
            raise EngineError("it ended without a result", where=str(self.binary), hint=said) from error
        return document
