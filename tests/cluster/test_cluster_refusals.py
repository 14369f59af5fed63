"""Who may not take part is told why, in one line, and ends with status 1."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from network import DEADLINE_S, Network, loopback

from feedbench.cli import main
from feedbench.cluster import greeting
from feedbench.cluster.certificates import issue_certificates

pytestmark = pytest.mark.end_to_end

Feedbench = Callable[..., str]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """One project for the whole module."""
    with loopback(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture(scope="module")
def plain(network: Network) -> str:
    """The address of a scheduler without TLS, with one host b."""
    _, address = network.scheduler(tls=False)
    network.joined(network.worker("b", address, "load,target"))
    return address


@pytest.fixture(scope="module")
def encrypted(network: Network) -> str:
    """The address of a scheduler with TLS."""
    return network.scheduler()[1]


@pytest.fixture
def refused(
    network: Network, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Feedbench:
    """Runs `feedbench ARGUMENTS`, which must end with status 1 and one line; returns the line."""

    def run(*arguments: str) -> str:
        monkeypatch.chdir(network.project)
        monkeypatch.setattr(sys, "argv", ["feedbench", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err.strip()
        assert ended.value.code == 1, said
        assert len(said.splitlines()) == 1, said
        return said

    return run


def test_a_worker_of_another_version_is_refused(
    refused: Feedbench, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greeting, "__version__", "0.0.9")
    said = refused("worker", plain, "--name", "c")
    assert "refused: it runs feedbench" in said
    assert "and this is 0.0.9" in said


def test_a_worker_whose_clock_is_off_is_refused(
    refused: Feedbench, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = time.time_ns
    # Far enough that even slow round trips prove it.
    monkeypatch.setattr(time, "time_ns", lambda: right() + 60_000_000_000)
    said = refused("worker", plain, "--name", "c")
    assert "refused: the clocks differ by" in said
    assert "50 ms is the limit" in said


def test_a_worker_without_a_certificate_is_refused(refused: Feedbench, encrypted: str) -> None:
    said = refused("worker", encrypted, "--name", "c")
    assert "no TLS certificate" in said
    assert "feedbench cluster init" in said


def test_a_plain_worker_finds_no_scheduler_that_encrypts(refused: Feedbench, encrypted: str) -> None:
    said = refused("worker", encrypted.replace("tls", "tcp"), "--name", "c", "--patience", "0")
    assert "no scheduler answers there" in said


def test_a_certificate_of_another_authority_is_refused(
    refused: Feedbench, encrypted: str, tmp_path: Path
) -> None:
    issue_certificates(tmp_path / "strangers")
    said = refused("worker", encrypted, "--tls", str(tmp_path / "strangers"), "--patience", "0")
    assert "no scheduler answers there" in said
    assert "same feedbench cluster init" in said


def test_outside_the_loopback_there_is_no_scheduler_without_a_certificate(refused: Feedbench) -> None:
    assert "no TLS certificate" in refused("cluster", "scheduler", "--address", "0.0.0.0", "--port", "0")


MISTAKES = [
    ("an offer that nobody knows", ["--offers", "loads"], "can't offer"),
    ("a CPU that is not there", ["--cpus", "4096"], "CPU 4096 is not there"),
    ("no CPUs", ["--cpus", "x"], "names no CPUs"),
    ("a folder without certificates", ["--tls", "."], "no TLS certificate"),
    ("a scheduler that is not there", ["--patience", "0"], "no scheduler answers"),
]


@pytest.mark.parametrize(("what", "arguments", "said"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_at_the_keyboard_is_one_line(
    refused: Feedbench, what: str, arguments: list[str], said: str
) -> None:
    assert said in refused("worker", "127.0.0.1:1", *arguments), what


def test_a_worker_that_would_not_be_reachable_is_told_so(refused: Feedbench, network: Network) -> None:
    said = refused("worker", "10.1.2.3:8786", "--tls", str(network.tls))
    assert "loopback only" in said
    assert "--address" in said


def test_a_second_host_of_the_same_name_is_refused(network: Network, plain: str) -> None:
    second = network.worker("c", plain, "load", name="b")
    assert second.process.wait(DEADLINE_S) == 1
    assert "refused by the scheduler" in second.said
    assert "--name" in second.said


def test_a_target_that_the_host_has_not_built_from_these_sources_is_refused(
    refused: Feedbench, network: Network, plain: str
) -> None:
    receipt = network.project / ".feedbench" / "receipts" / "_fake-echo.json"
    honest = receipt.read_text()
    receipt.write_text(json.dumps({**json.loads(honest), "sources_sha256": "0" * 64}))
    try:
        said = refused(
            "run", str(network.scenario()), "--cluster", plain, "--out", str(network.folder / "run")
        )
    finally:
        receipt.write_text(honest)
    assert "b: refused: its _fake/echo is built from other sources (hash 000000000000)" in said


UNSUITABLE = [
    ("another client", '[load]\nclient = "own"', "only the engine drives targets across hosts"),
    ("shares of a capacity", '[load]\npacer = "constant"\nrate = "50%"', "shares of a capacity"),
]


@pytest.mark.parametrize(("what", "more", "said"), UNSUITABLE, ids=[row[0] for row in UNSUITABLE])
def test_what_only_one_machine_can_do_is_said_before_anything_starts(
    refused: Feedbench, network: Network, plain: str, what: str, more: str, said: str
) -> None:
    scenario = network.scenario()
    scenario.write_text(scenario.read_text() + more)
    assert said in refused("plan", str(scenario), "--cluster", plain), what


def test_one_host_is_not_enough_to_be_apart(refused: Feedbench, network: Network, plain: str) -> None:
    said = refused("plan", str(network.scenario(more="apart = true")), "--cluster", plain)
    assert "b offers load, target" in said
    assert "load on another host" in said


def test_client_and_server_apart_wants_several_machines(refused: Feedbench, network: Network) -> None:
    scenario = str(network.scenario(more="apart = true"))
    for command in ("plan", "run"):
        said = refused(command, scenario)
        assert "apart" in said
        assert "--cluster" in said
    assert "go with --cluster" in refused("plan", str(network.scenario()), "--apart")
