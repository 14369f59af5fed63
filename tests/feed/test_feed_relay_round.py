"""One block of relays, run in this process: each is held against the ledger, with and without faults."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_feed_round import Laboratory, verdicts

from feedbench.analyze import analyze_run
from feedbench.paths import Project
from feedbench.plan import write_plan
from feedbench.registry import Registry, discover
from feedbench.target import Target

PROJECT = Project.find(Path(__file__).parent)
HONEST = "_fake/echo"
FAULTY = Path(__file__).with_name("faulty_relay.py")

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(
        not (PROJECT.exchange.exists() and PROJECT.engine.exists()),
        reason="engine and exchange are not built",
    ),
]

BINANCE = {"personality": "binance", "path": "/ws/btcusdt@bookTicker/btcusdt@trade"}
OPEN_GATES = """
[gates]
lateness_p999_share = 1e9
achieved_rate_share = 1.0
steal_share = 1.0
run_delay_share = 1.0
engine_stalls = 1000000
exchange_run_delay_share = 1e9
"""


def relay(registry: Registry, deviates: str = "", name: str = HONEST) -> Target:
    """A relay in this interpreter, with websockets, that needs no build; it breaks the rule that is named."""
    return replace(
        registry.get(HONEST),
        name=name,
        roles=("relay",),
        models=("feed",),
        server_command=None,
        relay_command=("env", f"FEEDBENCH_DEVIATES={deviates}", sys.executable, str(FAULTY)),
        knobs={"upstream": ("shared", "each"), "sink": ("stamps", "none"), "delay_ns": ("0", "*")},
    )


def with_relays(*faulty: str) -> tuple[Registry, list[str]]:
    known = discover(PROJECT)
    relays = [relay(known), *(relay(known, deviation, f"_fake/{deviation}") for deviation in faulty)]
    names = {target.name for target in relays}
    others = tuple(target for target in known.targets if target.name not in names)
    states = {**known.states, **{target.name: known.states[HONEST] for target in relays}}
    return replace(known, targets=(*others, *relays), states=states), [target.name for target in relays]


def laboratory(
    folder: Path, *faulty: str, relay: str, measure_ns: int = 300_000_000, **more: str
) -> Laboratory:
    registry, targets = with_relays(*faulty)
    table = f"[relay]\n{relay}\n{OPEN_GATES}"
    made = Laboratory(folder, registry, targets, **{**BINANCE, "more": table, **more})
    made.plan = replace(made.plan, protocol=replace(made.plan.protocol, measure_ns=measure_ns))
    return made


def relay_of(made: Laboratory, cell: str) -> dict[str, Any]:
    found: dict[str, Any] = made.read(cell, "load.json")["relay"]
    return found


def test_relays_share_an_exchange_and_pass_everything_on(tmp_path: Path) -> None:
    made = laboratory(tmp_path, relay="[factors]\nclients = [1, 9]")
    statuses = made.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    for clients in (1, 9):
        cell = f"_fake-echo+clients={clients}"
        load, told = made.read(cell, "load.json"), relay_of(made, cell)
        assert load["received"] == clients * told["entrance_age_ns"]["count"] > 0
        assert load["sent_total"] == load["received_total"]
        assert told["inside_ns"]["count"] == load["received"]
        assert told["direct_age_ns"]["count"] > 0
        assert told["skew_ns"]["count"] == (told["entrance_age_ns"]["count"] if clients > 1 else 0)
        # Hop by hop: nothing is at a client before it entered, nor enters before it was sent.
        assert told["inside_ns"]["min"] > 0
        assert told["entrance_age_ns"]["min"] > 0
        for process in ("relay", "subscribers"):
            assert told["processes"][process]["rss_bytes"] > 0


def test_a_relay_that_forgets_has_failed_and_the_other_has_not(tmp_path: Path) -> None:
    statuses = laboratory(tmp_path, "forgets", relay="clients = 3").run()
    assert statuses["_fake-forgets+all"]["verdict"] == "failed"
    assert "messages lost (0 allowed)" in statuses["_fake-forgets+all"]["cause"]
    assert statuses["_fake-echo+all"]["verdict"] == "ok"


def test_a_relay_that_does_not_start_costs_only_its_own_cell(tmp_path: Path) -> None:
    statuses = laboratory(tmp_path, "dies", relay="clients = 2").run()
    assert statuses["_fake-dies+all"]["verdict"] == "failed"
    assert "ended with status 3" in statuses["_fake-dies+all"]["cause"]
    assert statuses["_fake-echo+all"]["verdict"] == "ok"


def test_each_client_may_have_an_upstream_of_its_own(tmp_path: Path) -> None:
    made = laboratory(tmp_path, relay='clients = 3\nupstream = "per-client"', design="in-turn")
    statuses = made.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    told = relay_of(made, "_fake-echo+all")
    assert told["entrance_age_ns"]["count"] == 0, "several connections in one record can't be told apart"
    assert told["skew_ns"]["count"] > 0


def test_a_storm_is_timed_and_nobody_lost_what_was_sent_meanwhile(tmp_path: Path) -> None:
    made = laboratory(
        tmp_path, relay='clients = 6\nfault = "storm"', design="in-turn", measure_ns=3_000_000_000
    )
    statuses = made.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    storm = relay_of(made, "_fake-echo+all")["storm"]
    assert storm["back"] == 6
    assert storm["all_back_ns"] > 0


def test_a_lost_upstream_is_gone_on_with_and_the_gap_is_told(tmp_path: Path) -> None:
    made = laboratory(
        tmp_path,
        relay='clients = 2\nfault = "upstream-loss"',
        design="in-turn",
        measure_ns=9_000_000_000,
    )
    statuses = made.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    loss = relay_of(made, "_fake-echo+all")["upstream_loss"]
    assert loss["resumed"]
    assert loss["longest_gap_ns"] >= 100_000_000, "the relay waits so long before it connects again"
    # How many were missed, the witness tells if it was back before the relay: see the pure tests.
    assert (loss["duplicated"], loss["out_of_order"], loss["clients_thrown_out"]) == (0, 0, 0)


def test_a_relay_that_repeats_after_a_loss_has_failed(tmp_path: Path) -> None:
    made = laboratory(
        tmp_path,
        "repeats",
        relay='clients = 2\nfault = "upstream-loss"',
        design="in-turn",
        measure_ns=6_000_000_000,
    )
    statuses = made.run()
    assert statuses["_fake-repeats+all"]["verdict"] == "failed"
    assert "duplicated" in statuses["_fake-repeats+all"]["cause"]
    assert statuses["_fake-echo+all"]["verdict"] == "ok"


def test_what_a_relay_does_with_a_slow_client_is_told(tmp_path: Path) -> None:
    made = laboratory(
        tmp_path,
        "throws-out",
        relay='clients = 3\nfault = "slow-consumer"',
        design="in-turn",
        measure_ns=2_000_000_000,
    )
    statuses = made.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    thrown = relay_of(made, "_fake-throws-out+all")["slow_consumer"]
    kept = relay_of(made, "_fake-echo+all")["slow_consumer"]
    # A relay that got little time has left nobody behind whom it could throw out.
    assert thrown["policy"] in ("not tested", "disconnected")
    # 300 messages a second for a moment are what the kernel holds by itself.
    assert kept["policy"] in ("not tested", "back-pressure")
    assert kept["unread_bytes"] > 0
    assert kept["others_after_ns"]["count"] > 0


def test_the_findings_and_the_table_have_every_relay(tmp_path: Path) -> None:
    made = laboratory(tmp_path, relay="clients = 8")
    write_plan(made.directory.plan, made.plan)
    made.run()
    findings = analyze_run(made.directory)
    assert findings.questions[0].quantity == "event_age"
    found = {relay.cell: relay for relay in findings.relays}
    honest = found["_fake-echo+all"]
    assert honest.clients == 8
    assert honest.measures["inside_p50_ns"] > 0
    assert honest.measures["skew_p99_ns"] >= honest.measures["skew_p50_ns"] > 0
    assert honest.measures["memory_per_subscriber_bytes"] >= 0
    table = (made.directory.tables / "relays.csv").read_text()
    assert "_fake-echo+all" in table
    assert "memory_per_subscriber_bytes" in table.splitlines()[0]
    assert json.loads(made.directory.findings.read_text())["relays"]
