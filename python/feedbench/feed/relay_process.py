"""Starts a relay (spec/feed.md): a feed client upstream, a server downstream."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from feedbench.commands import environment, fill
from feedbench.errors import TargetError
from feedbench.feed.client import Address
from feedbench.host.process import ending, has_ended, own_preparation
from feedbench.launch import UNSUPPORTED_STATUS, UnsupportedError, free_port, log_tail
from feedbench.paths import Project
from feedbench.target import LAUNCH_KNOBS, Target

HOST = "127.0.0.1"
POLL_S = 0.005
LISTEN_STATE = "0A"  # in /proc/net/tcp


@dataclass(frozen=True)
class RelayProcess:
    """A running relay. `entered` is the record of what came from upstream, where it keeps one."""

    target: Target
    process: subprocess.Popen[bytes]
    port: int
    entered: Path | None
    log: Path
    started_ns: int

    @property
    def url(self) -> str:
        return f"ws://{HOST}:{self.port}/feed"

    def wait_listening(self, *, deadline_s: float) -> int:
        """Nanoseconds from its start until it listened; TargetError when it did not get there.

        Nobody connects to find out: with an upstream for each client that would be one more.
        """
        give_up = time.monotonic() + deadline_s
        while not listens(self.port):
            if has_ended(self.process):
                raise self.death()
            if time.monotonic() > give_up:
                raise TargetError(
                    f"it did not listen within {deadline_s:g} s",
                    where=self.target.name,
                    hint=f"see {self.log}",
                )
            time.sleep(POLL_S)
        return time.monotonic_ns() - self.started_ns

    def death(self) -> TargetError:
        """Why it has ended; it must have."""
        status = self.process.wait()
        said = log_tail(self.log)
        hint = f"it said: {said}" if said else "it said nothing"
        if status == UNSUPPORTED_STATUS:
            return UnsupportedError("it does not support this", where=self.target.name, hint=hint)
        return TargetError(f"the relay ended with {ending(status)}", where=self.target.name, hint=hint)


def start_relay(
    target: Target,
    address: Address,
    *,
    project: Project,
    entered: Path | None,
    log: Path,
    knobs: Mapping[str, str],
    settings: Mapping[str, str | None],
    cpus: Sequence[int] = (),
) -> RelayProcess:
    """Starts it on a free port. `settings` as in `start_client`. TargetError when it can't be started."""
    if target.relay_command is None:
        raise UnsupportedError("it is no relay", where=target.name)
    port = free_port(HOST)
    given = {name: value for name, value in settings.items() if value is not None}
    given |= {knob: value for knob, value in knobs.items() if knob not in LAUNCH_KNOBS}
    if entered is not None:
        given |= {"sink": "stamps", "output": str(entered.resolve())}
    command = fill(target.relay_command, target=target, project=project, mode=target.build_mode(knobs))
    started_ns = time.monotonic_ns()
    with log.open("ab") as said:
        try:
            process = subprocess.Popen(
                [*command, *address.arguments, HOST, str(port)],
                cwd=target.folder,
                env=environment(given),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=own_preparation(cpus=cpus),
            )
        except OSError as error:
            raise TargetError(f"cannot start {command[0]}: {error.strerror}", where=target.name) from error
    return RelayProcess(target, process, port, entered, log, started_ns)


def listens(port: int) -> bool:
    """Whether anything listens on this port, by the kernel's own tables."""
    wanted = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        if any(line.split()[1].endswith(wanted) and line.split()[3] == LISTEN_STATE for line in lines):
            return True
    return False
