"""Plays campaigns: each starts the exchange, the FIX echo and the collectors as fresh processes, and ends
them.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.collectors.composite import GRACE_S
from feedbench.doors.campaign import Doors
from feedbench.errors import EngineError, FeedbenchError
from feedbench.host.process import own_preparation
from feedbench.paths import Project

START_DEADLINE_S = 30.0
FEEDBENCH = (sys.executable, "-c", "from feedbench.cli import main; main()")


@dataclass(frozen=True)
class Place:
    """Where campaigns are played and written: `run` is the run directory."""

    run: Path
    project: Project
    say: Callable[[str], None]

    def data(self, name: str) -> Path:
        """The paper's `data/runs/{30s,2m,5m}`."""
        return self.run / "data" / "runs" / name


def play(doors: Doors, place: Place) -> None:
    """Campaigns in their order; one that has its summary already is not played again."""
    for name, duration_ns in doors.durations:
        folder = place.data(name)
        if (folder / "collectors.json").exists():
            continue
        seconds = doors.seconds(duration_ns)
        place.say(f"campaign {name}: {seconds:g} s")
        folder.mkdir(parents=True, exist_ok=True)
        with _exchange(doors, place, folder) as urls, _echo(doors, folder) as fix_port:
            _collect(doors, folder, seconds, urls=urls, fix_port=fix_port)


@contextmanager
def _exchange(doors: Doors, place: Place, folder: Path) -> Iterator[dict[str, str]]:
    arguments = ["--personality", doors.venue, "--no-tls", "--json", *doors.exchange]
    command = [str(place.project.exchange), *arguments]
    with _process(command, folder / "exchange.log") as process:
        beginning = _first_line(process, folder / "exchange.log")
        yield beginning["urls"][doors.venue]


@contextmanager
def _echo(doors: Doors, folder: Path) -> Iterator[int]:
    command = [*FEEDBENCH, "latency", "echo", "--port", str(doors.fix_port), "--json"]
    with _process(command, folder / "echo.log") as process:
        port: int = _first_line(process, folder / "echo.log")["port"]
        yield port


def _collect(doors: Doors, folder: Path, seconds: float, *, urls: dict[str, str], fix_port: int) -> None:
    command = [
        *(
            *FEEDBENCH,
            "latency",
            "composite",
            f"--venue={doors.venue}",
            f"--duration={round(seconds * 1e9)}ns",
        ),
        *(f"--rest-url={urls['rest']}", f"--websocket-url={urls['ws']}", f"--fix-port={fix_port}"),
        *(f"--rest-throttle={doors.rest_throttle_ns}ns", f"--fix-throttle={doors.fix_throttle_ns}ns"),
        "--keep-alive" if doors.keep_alive else "--no-keep-alive",
        "--http2" if doors.http2 else "--no-http2",
        *("--out", str(folder)),
    ]
    with _process(command, folder / "collectors.log") as process:
        try:
            process.communicate(timeout=seconds + 2 * GRACE_S + START_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            raise FeedbenchError("the collectors do not end", where=str(folder / "collectors.log")) from error
        if process.returncode != 0:
            cause = _last_line(folder / "collectors.log")
            raise FeedbenchError(
                f"the collectors ended with status {process.returncode}: {cause}", where=str(folder)
            )


@contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """Running until the block ends, or this process does; what it says on stderr goes to `log`."""
    with log.open("w", encoding="utf-8") as talk:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=talk,
                text=True,
                preexec_fn=own_preparation(on_parent_death=signal.SIGTERM),
            )
        except OSError as error:
            raise EngineError.not_started(Path(command[0]), error) from error
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def _first_line(process: subprocess.Popen[str], log: Path) -> dict[str, Any]:
    """What it says once it can be reached."""
    assert process.stdout is not None
    try:
        document: dict[str, Any] = json.loads(process.stdout.readline())
    except json.JSONDecodeError as error:
        raise FeedbenchError(f"it did not start: {_last_line(log)}", where=str(log)) from error
    return document


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
