"""The echo clients record what happened, whole and as spec/README.md wants, also when it went wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from target_serving import FAKE, PROJECT, REGISTRY, Start

from feedbench.commands import environment, fill
from feedbench.launch import Server
from feedbench.samples import COLUMNS, Samples, read_samples
from feedbench.target import Target

pytestmark = pytest.mark.end_to_end

every_client = pytest.mark.parametrize(
    "name", [target.name for target in REGISTRY.targets if target.echo_client_command is not None]
)
DURATION_NS = 300_000_000


@dataclass(frozen=True)
class Outcome:
    status: int
    stderr: str
    samples: Samples
    summary: Mapping[str, Any]


class Campaign:
    """A client on its way; `end` waits for it and reads what it wrote."""

    def __init__(self, target: Target, server: Server, folder: Path, **options: Any) -> None:
        settings = {
            "connections": 3,
            "duration_ns": DURATION_NS,
            "payload": b"x" * 37,
            "binary": False,
        } | options
        (folder / "payload").write_bytes(settings["payload"])
        self.folder = folder
        assert target.echo_client_command is not None
        command = [
            *fill(target.echo_client_command, target=target, project=PROJECT),
            *("--url", server.url("/echo"), "--connections", str(settings["connections"])),
            *("--duration-ns", str(settings["duration_ns"]), "--payload-file", str(folder / "payload")),
            *("--samples", str(folder / "samples.fbs"), "--summary", str(folder / "summary.json")),
            *(["--binary"] if settings["binary"] else []),
        ]
        self.process = subprocess.Popen(
            command, cwd=target.folder, env=environment(), stderr=subprocess.PIPE, text=True
        )

    def end(self) -> Outcome:
        _, stderr = self.process.communicate(timeout=20)
        samples = read_samples(self.folder / "samples.fbs")
        summary = json.loads((self.folder / "summary.json").read_text())
        return Outcome(self.process.returncode, stderr, samples, summary)


@pytest.fixture
def run(built: Callable[[str], Target], start: Start, tmp_path: Path) -> Callable[..., Outcome]:
    def run_client(name: str, knobs: Mapping[str, str] | None = None, **options: Any) -> Outcome:
        return Campaign(built(name), start(FAKE, knobs), tmp_path, **options).end()

    return run_client


@every_client
@pytest.mark.parametrize("binary", [False, True])
def test_every_round_trip_is_recorded(name: str, binary: bool, run: Callable[..., Outcome]) -> None:
    payload = bytes(range(256)) if binary else "37 bytes of UTF-8, like the paper's €".encode()
    outcome = run(name, payload=payload, binary=binary)
    assert (outcome.status, outcome.stderr) == (0, "")
    samples, summary = outcome.samples, outcome.summary
    assert samples.complete
    assert samples.header["columns"] == COLUMNS
    assert samples.header["clock"] == "CLOCK_MONOTONIC"
    assert summary == {"schema": 1, "sent": len(samples), "received": len(samples), "wrong": 0}
    records = samples.records
    assert set(np.unique(records["connection"])) == {0, 1, 2}
    assert np.array_equal(records["intended_ns"], records["sent_ns"])
    assert int(np.ptp(records["sent_ns"])) <= DURATION_NS
    for connection in range(3):
        own = records[records["connection"] == connection]
        assert (own["received_ns"] >= own["sent_ns"]).all()
        assert (own["sent_ns"][1:] >= own["received_ns"][:-1]).all(), "a message left before the last answer"


@every_client
def test_a_false_answer_is_counted(name: str, run: Callable[..., Outcome]) -> None:
    outcome = run(name, {"lie_every": "4"})
    assert outcome.status == 0
    assert outcome.summary["wrong"] == outcome.summary["received"] // 4


@every_client
def test_a_server_that_dies_leaves_the_measurement_and_one_line(
    name: str, run: Callable[..., Outcome]
) -> None:
    outcome = run(name, {"die_after": "50"})
    assert outcome.status == 1
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    assert "3 of 3 connections" in outcome.stderr
    assert len(outcome.samples) == outcome.summary["received"]
    assert 47 <= len(outcome.samples) <= 49
    assert outcome.summary["sent"] > outcome.summary["received"]


@every_client
def test_a_mute_server_ends_it_after_a_grace_time(name: str, run: Callable[..., Outcome]) -> None:
    outcome = run(name, {"mute": "true"}, connections=2)
    assert outcome.status == 1
    assert "an answer never came" in outcome.stderr
    assert outcome.summary == {"schema": 1, "sent": 2, "received": 0, "wrong": 0}
    assert len(outcome.samples) == 0
    assert outcome.samples.complete


def wait_for_connections(pid: int, count: int) -> None:
    give_up = time.monotonic() + 10
    while sum(link.status == "ESTABLISHED" for link in psutil.Process(pid).net_connections("tcp")) < count:
        assert time.monotonic() < give_up, "the client never connected"
        time.sleep(0.02)


@every_client
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_keeps_what_was_measured(
    name: str, number: signal.Signals, built: Callable[[str], Target], start: Start, tmp_path: Path
) -> None:
    campaign = Campaign(built(name), start(FAKE), tmp_path, duration_ns=60_000_000_000)
    wait_for_connections(campaign.process.pid, 3)
    time.sleep(0.2)
    campaign.process.send_signal(number)
    outcome = campaign.end()
    assert len(outcome.samples) > 0
    assert outcome.samples.complete
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr


@every_client
def test_nobody_listens(name: str, built: Callable[[str], Target], start: Start, tmp_path: Path) -> None:
    server = start(FAKE)
    server.stop()
    campaign = Campaign(built(name), server, tmp_path)
    _, stderr = campaign.process.communicate(timeout=20)
    assert campaign.process.returncode == 1
    assert stderr.startswith(f"cannot connect to {server.url('/echo')}: ")
    assert len(stderr.splitlines()) == 1, stderr


@every_client
def test_text_that_is_no_text_is_refused(
    name: str, built: Callable[[str], Target], start: Start, tmp_path: Path
) -> None:
    campaign = Campaign(built(name), start(FAKE), tmp_path, payload=b"\xff")
    _, stderr = campaign.process.communicate(timeout=20)
    assert campaign.process.returncode == 2
    assert "is not UTF-8 text; say --binary" in stderr
