"""Ages in parts, joined by the ledger; real packets, where they may be seen."""

from __future__ import annotations

import os
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from feedbench.capacity.feed_probe import FeedProbe
from feedbench.capacity.market import market, read_market
from feedbench.cli import app
from feedbench.errors import EngineError, FeedbenchError
from feedbench.feed.ledger import ALL_SUBSCRIBERS, MESSAGE, Ledger, keys_of_payloads
from feedbench.feed.received import Received
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.registry import discover
from feedbench.wire.capture import Capture
from feedbench.wire.measure import measure_parts
from feedbench.wire.parts import parts_of

PROJECT = Project.find(Path(__file__).parent)
FAULTY = PROJECT.root / "tests" / "verify" / "faulty_feed_client.py"
PAYLOADS = [b"one", b"two", b"two", b"three"]


def ledger(*payloads: bytes) -> Ledger:
    """Born at 0, 1000, 2000, … ns and written 100 ns later."""
    messages = np.zeros(len(payloads), MESSAGE)
    messages["kind"], messages["recipients"], messages["connection"] = 1, 1, ALL_SUBSCRIBERS
    messages["bytes"] = [len(payload) for payload in payloads]
    messages["crc32"] = [zlib.crc32(payload) for payload in payloads]
    messages["born_ns"] = 1000 * np.arange(len(payloads))
    messages["sent_ns"] = messages["born_ns"] + 100
    return Ledger(header={"opened_ns": 0}, messages=messages, names={}, complete=True)


def received(*times: tuple[int, bytes]) -> Received:
    at_ns = np.array([at for at, _ in times], dtype=np.uint64)
    return Received(at_ns, keys_of_payloads(payload for _, payload in times), killed=False)


def at_once(payloads: list[bytes], *, after_ns: int) -> Received:
    return received(*((1000 * number + after_ns, payload) for number, payload in enumerate(payloads)))


def test_the_age_is_the_sum_of_its_parts() -> None:
    parts = parts_of(
        at_once(PAYLOADS, after_ns=350), at_once(PAYLOADS, after_ns=120), ledger(*PAYLOADS), warmup_ns=0
    )
    assert (parts.sent, parts.unseen) == (4, 0)
    assert parts.to_wire_ns is not None
    assert parts.to_client_ns is not None
    assert parts.to_wire_ns.tolist() == [20] * 4
    assert parts.to_client_ns.tolist() == [230] * 4
    assert (parts.to_wire_ns + parts.to_client_ns == parts.whole_ns).all()
    assert parts.document()["wire_to_client_ns"]["p50"] == 230


def test_what_was_missed_on_the_wire_or_at_the_client_is_counted_and_shifts_nothing() -> None:
    """The second of two alike is the second, even where the first of another payload was missed."""
    on_wire = received((120, b"one"), (1120, b"two"), (2120, b"two"))
    handed = received((1350, b"two"), (2350, b"two"), (3350, b"three"))
    parts = parts_of(handed, on_wire, ledger(*PAYLOADS), warmup_ns=0)
    assert (parts.sent, parts.unseen) == (4, 2)
    assert parts.to_client_ns is not None
    assert parts.to_client_ns.tolist() == [230, 230]


def test_warming_up_counts_for_nothing() -> None:
    parts = parts_of(
        at_once(PAYLOADS, after_ns=350), at_once(PAYLOADS, after_ns=120), ledger(*PAYLOADS), warmup_ns=1500
    )
    assert (parts.sent, len(parts.whole_ns)) == (2, 2)


def test_without_the_wire_the_age_stays_whole() -> None:
    parts = parts_of(at_once(PAYLOADS, after_ns=350), None, ledger(*PAYLOADS), warmup_ns=0)
    document = parts.document()
    assert document["send_to_wire_ns"] is None
    assert document["wire_to_client_ns"] is None
    assert document["send_to_client_ns"]["p99"] == 250


def probe() -> FeedProbe:
    """The fake feed client, which needs no build, on a second of market."""
    registry = discover(PROJECT, probe=lambda need: None)
    scenario = read_market(PROJECT.scenarios / "feeds" / "breaking-rate.toml", PROJECT, registry)
    folders = (str(PROJECT.targets / "_fake" / "echo"), str(PROJECT.targets / "python" / "_support"))
    target = replace(
        registry.get("_fake/echo"),
        server_command=None,
        feed_client_command=("{python}", str(FAULTY), *folders),
        knobs={"sink": ("stamps",)},
    )
    return FeedProbe(
        project=PROJECT,
        target=target,
        feed=replace(market(scenario), rate_per_s=800),
        warmup_ns=100_000_000,
        measure_ns=1_000_000_000,
        knobs={},
        pinning=choose_pinning(wanted=False),
    )


def program(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "wire-stamps"
    file.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    file.chmod(0o755)
    return file


exchange_built = pytest.mark.skipif(not PROJECT.exchange.exists(), reason="the exchange is not built")


@pytest.mark.end_to_end
@exchange_built
def test_without_the_right_to_capture_it_says_so_once_and_goes_on(tmp_path: Path) -> None:
    no_right = program(tmp_path, "import sys\nprint('no right to capture', file=sys.stderr)\nsys.exit(127)\n")
    told: list[str] = []
    [measured] = measure_parts([probe()], no_right, repeats=2, told=told.append)
    assert sum("no right to capture" in line for line in told) == 1
    assert measured.total("sent") > 0
    assert measured.total("unseen") == 0
    assert measured.typical_ns("wire_to_client_ns", "p50") is None
    whole = measured.typical_ns("send_to_client_ns", "p50")
    assert whole is not None
    assert whole > 0


def test_a_capture_that_breaks_is_an_error_with_its_words(tmp_path: Path) -> None:
    broken = program(tmp_path, "import sys\nsys.exit('planted')\n")
    with pytest.raises(EngineError, match="planted"), Capture(broken, tmp_path).watch(1):
        pytest.fail("it is not ready")
    mute = program(tmp_path, "import signal\nprint('{}', flush=True)\nsignal.pause()\n")
    with pytest.raises(EngineError, match="without a result"), Capture(mute, tmp_path).watch(1):
        pass
    summary = {"connections": [{"file": "x", "trouble": "a message is compressed"}]}
    with pytest.raises(EngineError, match="compressed"):
        Capture(broken, tmp_path, summary).connection()
    with pytest.raises(EngineError, match="0 connections"):
        Capture(broken, tmp_path, {"connections": []}).connection()


@pytest.mark.end_to_end
@exchange_built
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may see packets")
@pytest.mark.skipif(not PROJECT.wire_stamps.exists(), reason="feedbench-wire-stamps is not built")
def test_real_packets_are_stamped_between_the_write_and_the_client() -> None:
    told: list[str] = []
    [measured] = measure_parts([probe()], PROJECT.wire_stamps, repeats=1, told=told.append)
    [repeat] = measured.repeats
    if repeat["capture"] is None:
        pytest.skip(told[-1])
    assert repeat["capture"]["dropped"] == repeat["capture"]["cut"] == 0
    assert (repeat["unseen"], repeat["sent"] > 400) == (0, True)
    # By the order of things, but for what is not known of the clocks.
    unsure_ns = repeat["capture"]["clock_uncertainty_ns"] + repeat["capture"]["clock_slewed_ns"]
    assert repeat["send_to_wire_ns"]["min"] >= -unsure_ns
    assert repeat["wire_to_client_ns"]["min"] >= -unsure_ns


def test_the_command_wants_feed_clients(tmp_path: Path) -> None:
    for arguments, complaint in (
        (["c/floor"], "no feed client is left"),
        (["no/such"], "no/such"),
        (["node/ws", "--duration", "soon"], "soon"),
    ):
        done = CliRunner().invoke(app, ["wire", *arguments])
        assert isinstance(done.exception, FeedbenchError)
        assert complaint in str(done.exception)
