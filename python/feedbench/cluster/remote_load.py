"""One call of the engine for a controller on another machine: in a thread, since the controller asks now and
then how far it is.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from feedbench.errors import ClusterError, EngineError
from feedbench.run.engine import EngineCall, call_engine
from feedbench.run.watch import Watched

REQUEST = "request.json"
LOG = "engine.log"


class _Stop:
    """What stands for ^C here: the controller passes its own on."""

    def __init__(self) -> None:
        self.asked = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        return self._reader

    @contextmanager
    def raising(self) -> Iterator[None]:
        yield

    def ask(self) -> None:
        self.asked = True
        os.write(self._writer, b"!")

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


@dataclass(frozen=True)
class LoadOutcome:
    """How the engine's call ended; see EngineCall."""

    trouble: str | None
    run_delay_ns: int
    overdue: bool
    interrupted: bool
    wall_ns: int

    def call(self) -> EngineCall:
        watched = Watched(overdue=self.overdue, interrupted=self.interrupted, wall_ns=self.wall_ns)
        return EngineCall(watched=watched, run_delay_ns=self.run_delay_ns, trouble=self.trouble)


class RemoteLoad:
    """Runs from the moment it is made; `folder` is emptied for it."""

    def __init__(
        self,
        engine: Path,
        request: Mapping[str, Any],
        payloads: Mapping[str, bytes],
        *,
        folder: Path,
        cpu: int | None,
        deadline_ns: int,
    ) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._stop = _Stop()
        self._outcome: LoadOutcome | EngineError | None = None
        placed = _placed(request, payloads, folder, cpu)
        self._thread = threading.Thread(
            target=self._run, args=(engine, placed, deadline_ns), name="engine", daemon=True
        )
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def interrupt(self) -> None:
        """The engine writes what it has, and ends."""
        if not self._stop.asked:
            self._stop.ask()

    def kill(self) -> None:
        """Returns when the engine is gone; what it wrote is of no use."""
        self.interrupt()
        self._thread.join()

    def outcome(self) -> LoadOutcome:
        """Waits for the end; EngineError when the engine could not be started."""
        self._thread.join()
        self._stop.close()
        if isinstance(self._outcome, LoadOutcome):
            return self._outcome
        raise self._outcome or EngineError("the call of the engine broke off")

    def files(self) -> dict[str, bytes]:
        """By path below the folder: the cells' results, and what the engine said."""
        found = [path for path in sorted(self._folder.rglob("*")) if path.is_file()]
        return {
            path.relative_to(self._folder).as_posix(): path.read_bytes()
            for path in found
            if path.relative_to(self._folder).parts[0] != "payloads"
        }

    def _run(self, engine: Path, request: Mapping[str, Any], deadline_ns: int) -> None:
        try:
            call = call_engine(
                engine,
                request,
                request_file=self._folder / REQUEST,
                log=self._folder / LOG,
                bystanders={},
                interruption=self._stop,
                deadline_ns=deadline_ns,
                alarm=None,
                tick=lambda: None,
            )
        except EngineError as error:
            self._outcome = error
            return
        self._outcome = LoadOutcome(
            trouble=call.trouble,
            run_delay_ns=call.run_delay_ns,
            overdue=call.watched.overdue,
            interrupted=call.watched.interrupted,
            wall_ns=call.watched.wall_ns,
        )


def _placed(
    request: Mapping[str, Any], payloads: Mapping[str, bytes], folder: Path, cpu: int | None
) -> dict[str, Any]:
    """The request with this host's paths and CPU. Names come from elsewhere: none may leave the folder."""
    for number, content in enumerate(payloads.values()):
        (folder / "payloads").mkdir(exist_ok=True)
        (folder / "payloads" / str(number)).write_bytes(content)
    numbers = {name: number for number, name in enumerate(payloads)}
    targets = []
    for target in request["targets"]:
        name = PurePosixPath(target["directory"])
        if name.is_absolute() or ".." in name.parts or name.parts[:1] in ((), ("payloads",)):
            raise ClusterError("a cell's folder would lie elsewhere", where=str(name))
        payload = dict(target["payload"])
        if payload.get("file") is not None:
            payload["file"] = str(folder / "payloads" / str(numbers[payload["file"]]))
        targets.append({**target, "directory": str(folder / name), "payload": payload})
    return {**request, "cpu": cpu, "targets": targets}
