"""Blocks of feed campaigns with a real exchange: what each client took down is held against the ledger."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from feedbench.feed.ledger import read_ledger
from feedbench.host.pinning import choose_pinning
from feedbench.host.shield import NOT_ASKED
from feedbench.paths import Project, RunDirectory
from feedbench.plan import Plan
from feedbench.planner import make_plan
from feedbench.registry import Registry, discover
from feedbench.run.block import run_block
from feedbench.run.context import Context
from feedbench.run.interruption import Interruption
from feedbench.samples import read_samples
from feedbench.scenario import read_scenario
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
# More than what comes before the market opens.
OPEN_BYTES = 50_000
FAULTY = PROJECT.root / "tests" / "verify" / "faulty_feed_client.py"

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(not PROJECT.exchange.exists(), reason="the exchange is not built"),
]

SCENARIO = """\
schema = 1
name = "test"
title = "A test"
question = "Which is first?"
analysis = "None."
targets = [{targets}]
reference = "{reference}"
[protocol]
blocks = 1
warmup = "200ms"
measure = "1s"
shield = false
cpus_awake = false
[feed]
design = "{design}"
rate = 1000
tls = {tls}
[[feed.exchanges]]
personality = "{personality}"
path = "{path}"
subscribe = [{subscribe}]
{more}
"""
GEMINI = {"personality": "gemini", "path": "/v1/marketdata/BTCUSD", "subscribe": ""}
BITHUMB = {
    "personality": "bithumb-global",
    "path": "/message/realtime",
    "subscribe": """'{"cmd":"subscribe","args":["ORDERBOOK:BTC-USDT"]}'""",
}
HONEST = "_fake/echo"


def client(registry: Registry, *, deviates: str = "", name: str = HONEST) -> Target:
    """The fake as a feed client that needs no build; it breaks the rule that `deviates` names."""
    return replace(
        registry.get(HONEST),
        name=name,
        roles=("client",),
        models=("feed",),
        server_command=None,
        feed_client_command=(
            *("env", f"FEEDBENCH_DEVIATES={deviates}", "{python}", str(FAULTY)),
            *(str(PROJECT.targets / HONEST), str(PROJECT.targets / "python" / "_support")),
        ),
        knobs={"sink": ("stamps", "sqlite", "sqlite_behind"), "delay_ns": ("0", "*")},
    )


def with_clients(*faulty: str) -> tuple[Registry, list[str]]:
    """The checkout's registry with the fake as a client, and one for each deviation."""
    known = discover(PROJECT)
    clients = [client(known)]
    clients += [client(known, deviates=deviation, name=f"_fake/{deviation}") for deviation in faulty]
    names = {target.name for target in clients}
    others = tuple(target for target in known.targets if target.name not in names)
    states = {**known.states, **{target.name: known.states[HONEST] for target in clients}}
    return replace(known, targets=(*others, *clients), states=states), [target.name for target in clients]


class Laboratory:
    """One block of one scenario, run in this process."""

    def __init__(self, folder: Path, registry: Registry, targets: list[str], **settings: str) -> None:
        usual = {"design": "sliced", "tls": "false", "more": "", "reference": targets[0], **GEMINI}
        scenario = folder / "scenario.toml"
        named = ", ".join(f'"{name}"' for name in targets)
        scenario.write_text(SCENARIO.format(**{**usual, "targets": named, **settings}))
        read = read_scenario(scenario, registry=registry, root=PROJECT.root)
        self.plan: Plan = make_plan(read, registry)
        self.registry = registry
        self.directory = RunDirectory(folder / "run")

    def run(self) -> dict[str, dict[str, Any]]:
        """status.json by cell id."""
        with Interruption() as interruption:
            context = Context(
                plan=self.plan,
                registry=self.registry,
                project=PROJECT,
                directory=self.directory,
                pinning=choose_pinning(wanted=False),
                shield=NOT_ASKED,
                interruption=interruption,
                left_out={},
                told=lambda _: None,
                tick=lambda: None,
                cpus_allowed=(0,),
            )
            assert run_block(context, self.plan.blocks[0]) is not None
        return {cell.id: self.read(cell.id, "status.json") for cell in self.plan.cells}

    def read(self, cell: str, file: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.directory.cell(0, cell) / file).read_text())
        return document


def verdicts(statuses: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {cell: status["verdict"] for cell, status in statuses.items()}


@pytest.mark.parametrize("design", ["sliced", "parallel"])
@pytest.mark.parametrize("exchange", [GEMINI, BITHUMB], ids=lambda entry: entry["personality"])
def test_every_client_has_all_that_it_was_sent(exchange: dict[str, str], design: str, tmp_path: Path) -> None:
    registry, targets = with_clients()
    laboratory = Laboratory(tmp_path, registry, targets, design=design, **exchange)
    statuses = laboratory.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    ledger = read_ledger(laboratory.directory.block(0) / "all.ledger")
    assert ledger.complete
    received = []
    for cell in statuses:
        load = laboratory.read(cell, "load.json")
        assert load["sent_total"] == load["received_total"] > 0
        assert load["lost_total"] == 0
        samples = read_samples(laboratory.directory.cell(0, cell) / "samples.fbs")
        assert len(samples) == load["received"] > 0
        assert (samples.records["received_ns"] > samples.records["sent_ns"]).all()
        if (laboratory.directory.cell(0, cell) / "resources.json").exists():  # else it had ended before
            assert laboratory.read(cell, "resources.json")["cpu_ns"] > 0
        received.append(load["received_total"])
    together = sum(received) if design == "sliced" else received[0]
    assert together == len(ledger.messages)


def test_a_database_holds_what_a_stamps_file_does_and_tls_changes_nothing(tmp_path: Path) -> None:
    registry, targets = with_clients()
    more = '[factors]\nsink = ["stamps", "sqlite", "sqlite_behind"]'
    laboratory = Laboratory(tmp_path, registry, targets, design="parallel", tls="true", more=more)
    statuses = laboratory.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    totals = {laboratory.read(cell, "load.json")["received_total"] for cell in statuses}
    assert len(totals) == 1


def test_who_forgets_messages_has_failed_and_the_others_have_not(tmp_path: Path) -> None:
    registry, targets = with_clients("burst-forgotten")
    laboratory = Laboratory(tmp_path, registry, targets, design="parallel", more="[expect]\nlost = 5")
    # The fake forgets all beyond its first 500.
    laboratory.plan = replace(
        laboratory.plan, protocol=replace(laboratory.plan.protocol, measure_ns=1_500_000_000)
    )
    statuses = laboratory.run()
    forgetful = statuses["_fake-burst-forgotten+all"]
    assert forgetful["verdict"] == "failed"
    assert "messages lost (5 allowed)" in forgetful["cause"]
    assert statuses["_fake-echo+all"]["verdict"] == "ok"


def test_who_cannot_connect_costs_only_its_own_cell(tmp_path: Path) -> None:
    registry, targets = with_clients("broken")
    broken = replace(registry.get("_fake/broken"), feed_client_command=("sh", "-c", "echo no; exit 3"))
    others = tuple(target for target in registry.targets if target.name != broken.name)
    laboratory = Laboratory(tmp_path, replace(registry, targets=(*others, broken)), targets)
    statuses = laboratory.run()
    assert statuses["_fake-broken+all"]["verdict"] == "failed"
    assert "ended with status 3" in statuses["_fake-broken+all"]["cause"]
    assert "it said: no" in statuses["_fake-broken+all"]["cause"]
    assert statuses["_fake-echo+all"]["verdict"] == "ok"


@pytest.fixture
def killer() -> Iterator[list[Path]]:
    """Kills the client that writes the first of these files, once it has begun to."""
    files: list[Path] = []
    done = threading.Event()

    def kill() -> None:
        while not done.wait(0.05):
            for file in files:
                for process in Path("/proc").glob("[0-9]*"):
                    if file.exists() and file.stat().st_size > OPEN_BYTES and writes(process, file):
                        os.kill(int(process.name), signal.SIGKILL)
                        return

    thread = threading.Thread(target=kill)
    thread.start()
    yield files
    done.set()
    thread.join()


def writes(process: Path, file: Path) -> bool:
    try:
        return any(Path(os.readlink(entry)) == file for entry in (process / "fd").iterdir())
    except OSError:
        return False


def test_a_client_that_is_killed_has_failed(killer: list[Path], tmp_path: Path) -> None:
    registry, targets = with_clients()
    laboratory = Laboratory(tmp_path, registry, targets, design="parallel")
    laboratory.plan = replace(
        laboratory.plan, protocol=replace(laboratory.plan.protocol, measure_ns=3_000_000_000)
    )
    victim = "_fake-echo~sentinel"
    folder = laboratory.directory.cell(0, f"{victim}+all")
    killer.append(folder / f"{victim}@gemini.stamps")
    began = time.monotonic()
    statuses = laboratory.run()
    assert statuses[f"{victim}+all"]["verdict"] == "failed"
    assert "SIGKILL" in statuses[f"{victim}+all"]["cause"]
    assert statuses["_fake-echo+all"]["verdict"] == "ok"
    assert time.monotonic() - began < 60


def test_the_reference_client_is_complete(tmp_path: Path) -> None:
    registry = discover(PROJECT)
    if registry.states["python/websockets"].state != "built":
        pytest.skip("python/websockets is not built")
    laboratory = Laboratory(
        tmp_path,
        registry,
        ["python/websockets"],
        more='[control]\ntarget = "python/websockets"\ndelay = "200us"',
    )
    statuses = laboratory.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    p50 = {cell: laboratory.read(cell, "load.json")["latency_ns"]["p50"] for cell in statuses}
    # A delay is at least itself, whatever the machine does besides.
    assert p50["python-websockets~control+all"] >= 200_000
