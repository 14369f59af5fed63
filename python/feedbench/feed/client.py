"""Starts a feed client or a poller: the study's four arguments, more in the environment (spec/feed.md)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from feedbench.commands import environment, fill
from feedbench.errors import TargetError
from feedbench.host.process import ending, has_ended, own_preparation
from feedbench.launch import UNSUPPORTED_STATUS, UnsupportedError, log_tail
from feedbench.network_path import PathEnd
from feedbench.paths import Project
from feedbench.target import LAUNCH_KNOBS, Door, Target

POLL_S = 0.005
# Header and the first record, which says that the handshake is done.
CONNECTED_BYTES = 16 + 24
# A poller says so before it asks: what shows that it is under way is the first answer, however short.
ANSWERED_BYTES = CONNECTED_BYTES + 24 + 12


@dataclass(frozen=True)
class Address:
    """The four arguments. `host` begins with `ws://` (`fix://`, `http://`), or is a bare name for TLS."""

    exchange: str
    host: str
    port: int
    stream: str

    @property
    def arguments(self) -> list[str]:
        return [self.exchange, self.host, str(self.port), self.stream]


@dataclass(frozen=True)
class FeedClient:
    """A running client and the files that it writes."""

    target: Target
    process: subprocess.Popen[bytes]
    output: Path
    log: Path
    sink: str
    port: int
    started_ns: int
    door: Door = "ws"

    def wait_connected(self, *, deadline_s: float) -> int:
        """Nanoseconds from its start until its handshake, logon or first answer was done; TargetError when it
        did not get there.

        A database does not tell when the handshake was done: there an established TCP connection has to do.
        """
        give_up = time.monotonic() + deadline_s
        while not self._is_connected():
            if has_ended(self.process):
                raise self.death()
            if time.monotonic() > give_up:
                raise TargetError(
                    f"it did not connect within {deadline_s:g} s",
                    where=self.target.name,
                    hint=f"see {self.log}",
                )
            time.sleep(POLL_S)
        return time.monotonic_ns() - self.started_ns

    def _is_connected(self) -> bool:
        if self.sink == "stamps":
            enough = ANSWERED_BYTES if self.door == "rest" else CONNECTED_BYTES
            return self.output.exists() and self.output.stat().st_size >= enough
        try:
            process = psutil.Process(self.process.pid)
            members = [process, *process.children(recursive=True)]
            return any(
                connection.status == psutil.CONN_ESTABLISHED
                and connection.raddr
                and connection.raddr.port == self.port
                for member in members
                for connection in member.net_connections("tcp")
            )
        except psutil.Error:
            return False

    def death(self) -> TargetError:
        """Why it has ended; it must have."""
        status = self.process.wait()
        said = log_tail(self.log)
        hint = f"it said: {said}" if said else "it said nothing"
        if status == UNSUPPORTED_STATUS:
            return UnsupportedError("it does not support this", where=self.target.name, hint=hint)
        return TargetError(f"the client ended with {ending(status)}", where=self.target.name, hint=hint)


def start_client(
    target: Target,
    address: Address,
    *,
    project: Project,
    output: Path,
    log: Path,
    knobs: Mapping[str, str],
    settings: Mapping[str, str | None],
    cpus: Sequence[int] = (),
    arguments: Sequence[str] | None = None,
    end: PathEnd | None = None,
    door: Door = "ws",
) -> FeedClient:
    """Starts it; its record goes to `output`. At the door `rest` it is a poller. `settings` are variables of
    the contract that are no knobs, by their names without FEEDBENCH_ in small letters; None leaves one
    unset. `arguments` instead of the address try what a client makes of wrong ones. TargetError when the
    program can't be started, UnsupportedError when it is none of that kind.
    """
    program = target.poller_command if door == "rest" else target.feed_client_command
    if program is None:
        raise UnsupportedError(
            "it is no poller" if door == "rest" else "it is no feed client", where=target.name
        )
    sink = knobs.get("sink", "stamps")
    given = {name: value for name, value in settings.items() if value is not None}
    given |= {knob: value for knob, value in knobs.items() if knob not in LAUNCH_KNOBS}
    command = fill(program, target=target, project=project, mode=target.build_mode(knobs))
    started_ns = time.monotonic_ns()
    with log.open("ab") as said:
        try:
            process = subprocess.Popen(
                [*command, *(address.arguments if arguments is None else arguments)],
                cwd=target.folder,
                env=environment({"output": str(output.resolve()), **given}),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=own_preparation(cpus=cpus, namespace=end.namespace if end else None),
            )
        except OSError as error:
            raise TargetError(f"cannot start {command[0]}: {error.strerror}", where=target.name) from error
    return FeedClient(target, process, output, log, sink, address.port, started_ns, door)


def settings_of(
    *,
    subscribe: Sequence[str] = (),
    ca_file: Any = None,
    poll_interval_ns: int | None = None,
    decoder: str | None = None,
) -> dict[str, str | None]:
    """What a client is told of its connection beside the four arguments."""
    return {
        "decoder": decoder,
        "poll_interval_ns": None if poll_interval_ns is None else str(poll_interval_ns),
        "subscribe": "\n".join(subscribe) or None,
        "ca_file": None if ca_file is None else str(ca_file),
    }
