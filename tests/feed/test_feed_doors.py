"""One market through WebSocket, FIX and REST: a test of the laboratory, whose quantities are what they say.

Nothing here depends on the machine's speed: ages through two doors are compared within one run, and an age
over REST with the law that its own polls make.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from test_feed_round import PROJECT, Laboratory, verdicts

from feedbench.analyze.campaign import analyze_run
from feedbench.clock_offset.sample import Interval
from feedbench.errors import ScenarioError
from feedbench.feed.ledger import read_ledger
from feedbench.findings import Findings
from feedbench.plan import Plan, write_plan
from feedbench.planner import make_plan
from feedbench.protocol import Gates
from feedbench.registry import Registry, discover
from feedbench.report.doors import doors_section
from feedbench.samples import read_samples
from feedbench.target import Command, Target
from planning import DELAY, make_registry, make_target, scenario_from

REST = "/api/v3/ticker/24hr?symbol=BTCUSDT"
DOORS = f"""\
personality = "binance"
path = "/ws/btcusdt@trade"
fix = "/SPOT/BTCUSDT/2"
rest = "{REST}"
newest = "lastId"
"""
SCENARIO = """\
schema = 1
name = "test"
title = "A test"
question = "How old?"
analysis = "None."
targets = ["*/*"]
reference = "python/ws"
control = {{ target = "python/ws", delay = "20us" }}
[feed]
[[feed.exchanges]]
{doors}
"""
# The clients of this checkout, run by the interpreter of these tests, which has their libraries.
CLIENTS = {"ws": "python/websockets", "fix": "python/simplefix", "rest": "python/httpx"}
KNOBS = {"sink": ("stamps",), "delay_ns": ("0", "*")}


def listener(name: str, *, speaks: tuple[str, ...] = ("ws",), command: Command = ("client",)) -> Target:
    made = make_target(name, models=("feed",), knobs={**DELAY, **KNOBS})
    return replace(made, roles=("client",), speaks=speaks, server_command=None, feed_client_command=command)


def poller(name: str, *, command: Command = ("poller",)) -> Target:
    made = make_target(name, models=("poll",), knobs={**DELAY, **KNOBS})
    return replace(made, roles=("client",), speaks=("rest",), server_command=None, poller_command=command)


def clients() -> Registry:
    both = replace(listener("node/both"), poller_command=("poller",))
    fix = listener("python/fix", speaks=("fix",))
    return make_registry(listener("python/ws"), fix, poller("python/rest"), both, make_target("c/server"))


def planned(doors: str, folder: Path) -> Plan:
    registry = clients()
    return make_plan(scenario_from(SCENARIO.format(doors=doors), folder, registry=registry), registry)


def test_each_client_comes_through_a_door_that_is_open(tmp_path: Path) -> None:
    plan = planned(DOORS, tmp_path)
    access = {cell.target: cell.factors["access"] for cell in plan.cells}
    assert access == {
        "python/ws": "listened",
        "python/fix": "listened",
        "node/both": "listened",
        "python/rest": "polled",
    }
    assert len(plan.rounds) == 1
    assert Plan.from_json(plan.to_json()) == plan


def test_what_polls_tell_is_never_compared_with_what_was_listened_to(tmp_path: Path) -> None:
    plan = planned(DOORS, tmp_path)
    listened, polled = sorted(plan.questions, key=lambda question: str(question.fixed["access"]))
    assert {plan.cell(cell).target for cell in listened.cells} == {"python/ws", "python/fix", "node/both"}
    assert {plan.cell(cell).target for cell in polled.cells} == {"python/rest"}
    assert listened.sentinel is not None
    assert listened.control is not None
    assert (polled.sentinel, polled.control) == (None, None)


def test_a_closed_door_leaves_its_clients_out_and_nothing_else_changes(tmp_path: Path) -> None:
    plan = planned('personality = "binance"\npath = "/ws/btcusdt@trade"', tmp_path)
    assert {cell.target for cell in plan.cells} == {"python/ws", "node/both"}
    assert all("access" not in cell.factors for cell in plan.cells)
    (feed,) = {condition.load.feed for condition in plan.conditions}
    assert feed is not None
    assert "--fix" not in feed.arguments()


@pytest.mark.parametrize(
    ("doors", "told"),
    [
        ('personality = "binance"', "no door of this exchange is open"),
        (DOORS.replace('newest = "lastId"', ""), "newest: the number's key"),
        (DOORS.replace("/SPOT/BTCUSDT/2", "BTCUSDT"), "a stream of a FIX client"),
        (DOORS + 'wss = "/"', "wss"),
        (f'personality = "binance"\nrest = "{REST}"\nnewest = "lastId"', "nobody here listens"),
    ],
)
def test_what_a_scenario_of_doors_cannot_mean_is_named(doors: str, told: str, tmp_path: Path) -> None:
    text = SCENARIO.format(doors=doors)
    if "nobody" in told:
        text = text.replace('"*/*"', '"python/rest"').replace('"python/ws"', '"python/rest"')
    with pytest.raises(ScenarioError) as error:
        scenario_from(text, tmp_path, registry=clients())
    assert told in str(error.value)


def with_clients() -> tuple[Registry, list[str]]:
    """The checkout's registry with its clients run from these tests' environment."""

    def program(door: str, file: str) -> Command:
        return (sys.executable, str(PROJECT.targets / CLIENTS[door] / file))

    made = [
        listener("test/ws", command=program("ws", "client.py")),
        listener("test/fix", speaks=("fix",), command=program("fix", "client.py")),
        poller("test/rest", command=program("rest", "poller.py")),
    ]
    known = discover(PROJECT)
    made = [replace(target, folder=PROJECT.targets / "_fake" / "echo") for target in made]
    states = {**known.states, **{target.name: known.states["_fake/echo"] for target in made}}
    return replace(known, targets=(*known.targets, *made), states=states), [target.name for target in made]


def measured(folder: Path, design: str) -> tuple[Laboratory, Mapping[str, Mapping[str, Any]]]:
    """A block with a client through each door; statuses by cell."""
    registry, targets = with_clients()
    tail = DOORS.split("\n", 2)[2]
    exchange = {"personality": "binance", "path": "/ws/btcusdt@trade", "subscribe": ""}
    laboratory = Laboratory(folder, registry, targets, design=design, more=tail, **exchange)
    # Time enough for a poller on a machine that has other things to do.
    protocol = replace(laboratory.plan.protocol, warmup_ns=500_000_000, measure_ns=2_000_000_000)
    laboratory.plan = replace(laboratory.plan, protocol=protocol)
    return laboratory, laboratory.run()


pytestmark_run = pytest.mark.skipif(not PROJECT.exchange.exists(), reason="the exchange is not built")


@pytest.mark.end_to_end
@pytestmark_run
def test_through_each_door_the_quantity_is_what_it_says(tmp_path: Path) -> None:
    laboratory, statuses = measured(tmp_path, "sliced")
    assert set(verdicts(dict(statuses)).values()) == {"ok"}, statuses
    loads = {cell.split("+")[0]: laboratory.read(cell, "load.json") for cell in statuses}
    assert {name: load["door"] for name, load in loads.items()} == {
        "test-ws": "ws",
        "test-ws~sentinel": "ws",
        "test-fix": "fix",
        "test-rest": "rest",
    }
    # Who listens has everything, and nothing lay in a batch: it was sent soon after its birth, compared with
    # what polling makes of it.
    for name in ("test-ws", "test-fix"):
        assert loads[name]["lost_total"] == loads[name]["wrong"] == 0
        assert loads[name]["lateness_ns"]["p50"] < loads["test-rest"]["latency_ns"]["p50"]
    # One clock and no batch: through both doors an event is about as old. How much two copies of one client
    # differ says what the machine does to such a ratio just now.
    names = ("test-ws", "test-ws~sentinel", "test-fix")
    ws, again, fix = (loads[name]["latency_ns"]["p50"] for name in names)
    unrest = 20 * max(ws / again, again / ws)
    assert 1 / unrest < fix / ws < unrest
    # Over REST the age is the law's, and the law notices when it is not.
    polling = loads["test-rest"]["polling"]
    age, expected = Interval(*polling["age_ns"]), Interval(*polling["expected_ns"])
    assert polling["events"] >= 10
    assert age.overlaps(expected), polling
    late_ns = 2 * expected.high
    assert not Interval(age.low + late_ns, age.high + late_ns).overlaps(expected)
    # Its samples hold all three quantities apart: age = polling delay + round trip, event by event.
    records = read_samples(laboratory.directory.cell(0, "test-rest+all") / "samples.fbs").records
    assert len(records) == loads["test-rest"]["received"]
    signed = {name: records[name].astype(np.int64) for name in ("intended_ns", "sent_ns", "received_ns")}
    round_trips = signed["received_ns"] - signed["sent_ns"]
    assert (round_trips > 0).all()
    assert polling["polling_delay_ns"]["max"] == int((signed["sent_ns"] - signed["intended_ns"]).max())
    assert laboratory.read("test-rest+all", "resources.json")["cpu_ns"] is not None
    check_findings(laboratory)
    check_an_exchange_that_waited(laboratory)


def check_findings(laboratory: Laboratory) -> None:
    """What the analysis and the report make of such a run: each quantity in its own question and figure."""
    # No gate is to leave the one block out, whatever the machine does besides.
    gates = Gates(1e9, 1e9, 1.0, 1.0, 1e9, 1e9)
    write_plan(laboratory.directory.plan, replace(laboratory.plan, gates=gates))
    findings = analyze_run(laboratory.directory)
    schema = json.loads((PROJECT.root / "spec" / "findings.schema.json").read_text())
    document = json.loads(laboratory.directory.findings.read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert Findings.from_json(document) == findings
    assert {question.quantity for question in findings.questions} == {"event_age", "polled_age"}
    doors = {entry.door: entry for entry in findings.doors}
    assert set(doors) == {"ws", "fix", "rest"}
    assert doors["ws"].polling is None
    assert doors["rest"].batch_ns.value is None
    assert doors["rest"].polling is not None
    assert (doors["rest"].polling.blocks_held, doors["rest"].polling.blocks) == (1, 1)
    # A FIX message brings its framing; a short text has a header of two bytes, a longer one of four.
    fix, ws = doors["fix"], doors["ws"]
    assert fix.wire_bytes.value == pytest.approx(fix.message_bytes.value)
    assert ws.message_bytes.value is not None
    assert ws.wire_bytes.value is not None
    assert 1.9 < ws.wire_bytes.value - ws.message_bytes.value < 4.1
    section = doors_section(findings.doors)
    assert section is not None
    assert section.heading == "Doors"
    assert [figure.name for figure in section.figures] == ["doors-event-age", "doors-polled-age"]
    listened, polled = section.figures
    assert "test/rest" not in listened.description
    assert "test/ws" not in polled.description
    assert any("U(0, T) + RTT/2" in sentence for sentence in section.sentences)


def check_an_exchange_that_waited(laboratory: Laboratory) -> None:
    """A block whose exchange is made to have waited half of the time is dropped, for that alone."""
    others_open = Gates(1e9, 1e9, 1.0, 1.0, 1e9)
    write_plan(laboratory.directory.plan, replace(laboratory.plan, gates=others_open))
    path = laboratory.directory.environment(0, laboratory.plan.rounds[0].id)
    environment = json.loads(path.read_text())
    for share, expected in ((0.5, {"exchange_run_delay_share"}), (0.0, set())):
        path.write_text(
            json.dumps({**environment, "engine_run_delay_ns": int(environment["wall_ns"] * share)})
        )
        for question in analyze_run(laboratory.directory).questions:
            assert {drop.gate for drop in question.blocks_dropped} == expected


@pytest.mark.end_to_end
@pytestmark_run
def test_in_parallel_one_birth_is_told_through_both_doors(tmp_path: Path) -> None:
    """The same event, born once: what WebSocket and FIX tell of has the same births by the ledger."""
    laboratory, statuses = measured(tmp_path, "parallel")
    listening = {cell: status for cell, status in statuses.items() if "rest" not in cell}
    assert set(verdicts(dict(listening)).values()) == {"ok"}, statuses
    ledger = read_ledger(laboratory.directory.block(0) / "all.ledger")
    births = {}
    for door, connection in (("ws", 0), ("fix", 0)):
        # All subscribers of a door get each message, so that any connection's number will do.
        messages = ledger.messages[ledger.is_for(connection, door)]  # type: ignore[arg-type]
        births[door] = {int(each["sequence"]): int(each["born_ns"]) for each in messages}
    # One message over FIX tells of all trades of an event, under the number of the first.
    assert len(births["fix"]) > 100
    assert births["fix"].items() <= births["ws"].items()
