"""One fresh process of the simulated exchange, for as long as a round lasts."""

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
from urllib.parse import urlsplit

from feedbench.errors import EngineError
from feedbench.feed.client import Address
from feedbench.feed.settings import Feed
from feedbench.host.process import end_process, own_preparation
from feedbench.launch import log_tail
from feedbench.network_path import PathEnd
from feedbench.target import Door

READY_DEADLINE_S = 30.0
END_GRACE_S = 5.0
# Its certificate is for this name, and clients check that.
TLS_NAME = "localhost"
LOOPBACK = "127.0.0.1"


# How a domain begins that a client of the door calls without TLS, and the door's keys in the exchange's urls.
SCHEMES: Mapping[Door, str] = {"ws": "ws", "fix": "fix", "rest": "http"}
PLAIN_URLS: Mapping[Door, str] = {"ws": "ws", "fix": "fix", "rest": "rest"}
TLS_URLS: Mapping[Door, str] = {"ws": "wss", "fix": "fix_tls", "rest": "rest_tls"}


@dataclass(frozen=True)
class Exchange:
    """A running exchange. `urls` are its personality's; `ca_file` vouches for it, where TLS is asked for.
    `client_end` is where its clients are to be started, where a network lies between.
    """

    process: subprocess.Popen[bytes]
    host: str
    urls: Mapping[str, str | None]
    ca_file: Path | None
    client_end: PathEnd | None = None

    def frame_bytes(self) -> float | None:
        """Of a message as it went over TCP, by the exchange's own totals, compressed or not; None before it
        has ended, and where it does not say. To be asked once.
        """
        if self.process.poll() is None or self.process.stdout is None:
            return None
        lines = self.process.stdout.read().splitlines()
        try:
            doors = json.loads(lines[-1])["totals"]["doors"]
            sent = sum(door["messages_sent"] for door in doors)
            return float(sum(door["framed_bytes_sent"] for door in doors) / sent) if sent else None
        except (IndexError, KeyError, TypeError, ValueError):
            return None

    def address(self, feed: Feed, door: Door = "ws") -> Address:
        """What a client of this door is told; EngineError where the personality has no such door."""
        url = self.urls.get((TLS_URLS if feed.tls else PLAIN_URLS)[door])
        port = urlsplit(url).port if url else None
        if port is None:
            raise EngineError(f"the exchange {feed.personality} has no door for {door}")
        host = TLS_NAME if feed.tls else f"{SCHEMES[door]}://{self.host}"
        return Address(feed.exchange, host, port, feed.doors[door])

    def url(self, feed: Feed) -> str:
        """The WebSocket door for who takes URLs."""
        address = self.address(feed)
        host = f"wss://{address.host}" if feed.tls else address.host
        return f"{host}:{address.port}{address.stream}"


@contextmanager
def run_exchange(
    binary: Path,
    feed: Feed,
    *,
    seed: int,
    duration_ns: int,
    wait_for: int,
    slice_ns: int | None,
    ledger: Path,
    log: Path,
    cpus: Sequence[int],
    spins: bool,
    end: PathEnd | None = None,
) -> Iterator[Exchange]:
    """Its market opens when `wait_for` clients have subscribed, and ends `duration_ns` later.

    `spins`: it has its CPU for itself, and never sleeps. One that sleeps sends up to a millisecond late.

    `end`: of a network path, where it is started and listens; else on loopback.

    EngineError when it can't be started, or isn't ready in time.
    """
    host = end.address if end else LOOPBACK
    command = [str(binary), "--json", *feed.arguments(), "--seed", str(seed)]
    command += ["--duration", f"{duration_ns}ns", "--wait-for", str(wait_for), "--ledger", str(ledger)]
    command += ["--host", host, "--pacing", "spin" if spins else "hybrid"]
    if slice_ns is not None:
        command += ["--slice", f"{slice_ns}ns"]
    if cpus:
        command += ["--cpu", str(cpus[0])]
    with log.open("wb") as said:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                process_group=0,
                preexec_fn=own_preparation(cpus=cpus, namespace=end.namespace if end else None),
            )
        except OSError as error:
            raise EngineError.not_started(binary, error) from error
    try:
        yield _exchange(process, host, _first_line(process, log), feed)
    finally:
        end_process(process, first=signal.SIGTERM, grace_s=END_GRACE_S)


def _first_line(process: subprocess.Popen[bytes], log: Path) -> Mapping[str, Any]:
    """What it prints when everything can be reached."""
    assert process.stdout is not None
    line = b""
    if select.select([process.stdout], [], [], READY_DEADLINE_S)[0]:
        line = process.stdout.readline()
    try:
        document: Mapping[str, Any] = json.loads(line)
    except ValueError as error:
        said = log_tail(log)
        raise EngineError("the exchange did not start", hint=said or "it said nothing") from error
    return document


def _exchange(process: subprocess.Popen[bytes], host: str, told: Mapping[str, Any], feed: Feed) -> Exchange:
    return Exchange(process, host, told["urls"][feed.personality], Path(told["ca"]) if feed.tls else None)
