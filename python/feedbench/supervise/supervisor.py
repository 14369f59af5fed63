"""Starts every client on every exchange, and starts again what died, until it is told to end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from feedbench.commands import environment, fill
from feedbench.errors import FeedbenchError, TargetError
from feedbench.feed.client import settings_of
from feedbench.feed.stamps import HEADER_BYTES, read_stamps
from feedbench.host.process import ending
from feedbench.launch import UNSUPPORTED_STATUS, log_tail
from feedbench.paths import Project
from feedbench.pipeline.series import Series
from feedbench.registry import Registry
from feedbench.supervise import journal
from feedbench.supervise.backoff import Backoff
from feedbench.supervise.child import Child, find_child, start_child, take_lock
from feedbench.supervise.folder import Folder
from feedbench.supervise.task import Endpoint, Task
from feedbench.target import Target

POLL_S = 0.25
END_S = 5.0  # spec/feed.md gives a client 2 s
USAGE_STATUS = 2


@dataclass
class Watched:
    """One series and how its client is. `due` is when it is to be started, on the monotonic clock."""

    series: Series
    target: Target
    endpoint: Endpoint
    child: Child | None = None
    backoff: Backoff = field(default_factory=Backoff)
    due: float = 0.0
    given_up: bool = False


@dataclass
class Supervisor:
    """`asked_to_end` is looked at in each turn, and so is the folder's exit file."""

    task: Task
    folder: Folder
    registry: Registry
    project: Project
    say: Callable[[str], None]
    asked_to_end: Callable[[], bool]
    watched: list[Watched] = field(default_factory=list)

    def run(self) -> None:
        """Until the end is asked for; FeedbenchError when another supervisor has the folder, or no client is
        left that could run.
        """
        with self.folder.lock.open("ab") as lock:
            if not take_lock(lock.fileno()):
                raise FeedbenchError("another supervisor is at it", where=str(self.folder.path))
            self.folder.exit_file.unlink(missing_ok=True)
            self._begin()
            while not (self.asked_to_end() or self.folder.exit_file.exists()):
                for one in self.watched:
                    self._look(one)
                if all(one.given_up for one in self.watched):
                    raise FeedbenchError("no client is left that could run", where=str(self.folder.journal))
                time.sleep(POLL_S)
            self._end()

    def _begin(self) -> None:
        """Finds what an earlier supervisor left running, and what has died since."""
        known = journal.read(self.folder.journal)
        for series, client, endpoint in self.task.series():
            one = Watched(series, self.registry.get(client), endpoint)
            one.child = find_child(self.folder.child_lock(series))
            last = journal.history(known, series, now_unix_ns=time.time_ns()).last
            if one.child is not None:
                self._note(one, "found", pid=one.child.pid)
                self.say(f"{series}: found, process {one.child.pid}")
            elif last is not None and last.kind in ("started", "found"):
                record = self.folder.record(series, self.task.sink)
                wrote_ns = record.stat().st_mtime_ns if record.exists() else last.unix_ns
                self._note(one, "died", cause="it died while no supervisor was there", unix_ns=wrote_ns)
            self.watched.append(one)

    def _look(self, one: Watched) -> None:
        if one.child is not None:
            if _lives(one.child, self.folder.child_lock(one.series)):
                return
            self._bury(one, one.child)
        if not one.given_up and time.monotonic() >= one.due:
            self._start(one)

    def _start(self, one: Watched) -> None:
        record = self.folder.record(one.series, self.task.sink)
        if self.task.sink == "stamps" and record.exists():
            _cut_to_whole(record)
        settings = settings_of(subscribe=one.endpoint.subscribe, ca_file=one.endpoint.ca_file)
        given = {name: value for name, value in settings.items() if value is not None}
        given |= {"output": str(record.resolve()), "exit_file": str(self.folder.exit_file.resolve())}
        command = one.target.feed_client_command
        if command is None:
            raise TargetError("it is no feed client", where=one.target.name)
        filled = fill(command, target=one.target, project=self.project, mode="release")
        one.child = start_child(
            [*filled, *one.endpoint.address.arguments],
            folder=one.target.folder,
            environment=environment({**given, "sink": self.task.sink}),
            lock=self.folder.child_lock(one.series),
            log=self.folder.log(one.series),
        )
        self._note(one, "started", pid=one.child.pid)

    def _bury(self, one: Watched, child: Child) -> None:
        status = child.process.wait() if child.process is not None else None
        ran_s = (time.time_ns() - child.started_unix_ns) / 1e9
        said = log_tail(self.folder.log(one.series))
        how = f"it ended with {ending(status)}" if status is not None else "it ended"
        cause = f"{how}; it said: {said}" if said else how
        self._note(one, "died", pid=child.pid, cause=cause)
        one.child, one.backoff = None, one.backoff.after(ran_s)
        one.due = time.monotonic() + one.backoff.wait_s
        if status in (USAGE_STATUS, UNSUPPORTED_STATUS):
            one.given_up = True
            self._note(one, "given_up", cause=cause)
            self.say(f"{one.series}: {cause}; it is not started again")
        else:
            self.say(f"{one.series}: {cause}; again in {one.backoff.wait_s:g} s")

    def _end(self) -> None:
        """By the exit file; who does not heed it within 5 s is killed, and told to have been."""
        self.folder.exit_file.touch()
        give_up = time.monotonic() + END_S
        for one in self.watched:
            if one.child is None:
                continue
            lock = self.folder.child_lock(one.series)
            while _lives(one.child, lock) and time.monotonic() < give_up:
                time.sleep(POLL_S / 5)
            killed = _lives(one.child, lock)
            if killed:
                one.child.kill()
            self._note(
                one,
                "ended",
                pid=one.child.pid,
                cause="killed: it did not heed the exit file" if killed else None,
            )
        self.say(f"ended; what was received is in {self.folder.path}")

    def _note(
        self,
        one: Watched,
        kind: journal.Kind,
        *,
        pid: int | None = None,
        cause: str | None = None,
        unix_ns: int | None = None,
    ) -> None:
        entry = journal.Entry(kind, str(one.series), unix_ns or time.time_ns(), pid, cause)
        journal.append(self.folder.journal, entry)


def _lives(child: Child, lock: Path) -> bool:
    if child.process is not None:
        return child.process.poll() is None
    return find_child(lock) is not None


def _cut_to_whole(record: Path) -> None:
    """A client that goes on with its file trusts that it ends with a whole record."""
    stamps = read_stamps(record)
    if len(stamps.heads):
        whole = int(stamps.begins[-1]) + int(stamps.heads["bytes"][-1])
    else:
        whole = min(len(stamps.content), HEADER_BYTES)
    if whole < len(stamps.content):
        with record.open("r+b") as file:
            file.truncate(whole if whole >= HEADER_BYTES else 0)
