"""One kind of event in several encodings: bytes, parse time and CPU time, each under its own name."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_feed_doors import PROJECT, listener
from test_feed_round import Laboratory, verdicts

from feedbench.analyze.campaign import analyze_run
from feedbench.plan import write_plan
from feedbench.planner import make_plan
from feedbench.protocol import Gates
from feedbench.registry import Registry, discover
from feedbench.report.doors import doors_section
from planning import make_registry, scenario_from

SCENARIO = """\
schema = 1
name = "test"
title = "A test"
question = "How old?"
analysis = "None."
targets = ["*/*"]
reference = "python/ws"
compare = "exchange"
[feed]
[[feed.exchanges]]
name = "json"
personality = "binance"
path = "/ws/btcusdt@bookTicker"
[[feed.exchanges]]
name = "sbe"
personality = "binance-sbe"
path = "/ws/btcusdt@bestBidAsk"
decoder = "sbe"
[[feed.exchanges]]
name = "deflated"
personality = "binance"
path = "/ws/btcusdt@bookTicker"
compression = "as-offered"
[[feed.exchanges]]
name = "fix"
personality = "binance"
fix = "/SPOT/BTCUSDT/0,1"
"""
ITCH = """
[[feed.exchanges]]
name = "itch"
personality = "itch"
path = "/ws/btcusdt@bookTicker"
decoder = "itch"
"""
DECODES = {"parse": ("off", "on"), "decoder": ("json", "sbe", "itch"), "sink": ("stamps",)}


def test_who_cannot_decode_or_inflate_is_left_out_by_name_and_fix_stands_beside(tmp_path: Path) -> None:
    able = replace(listener("python/ws"), knobs=DECODES, options={"deflate": "on"})
    registry = make_registry(able, listener("go/plain"), listener("python/fix", speaks=("fix",)))
    plan = make_plan(scenario_from(SCENARIO, tmp_path, registry=registry), registry)
    cells = {(cell.target, cell.factors["exchange"]) for cell in plan.cells if cell.copy is None}
    assert cells == {
        ("python/ws", "json"),
        ("python/ws", "sbe"),
        ("python/ws", "deflated"),
        ("go/plain", "json"),
        ("python/fix", "fix"),
    }
    reasons = {skipped.cell: skipped.reason for skipped in plan.skipped}
    assert reasons["go-plain+exchange=sbe"] == "it decodes no sbe"
    assert reasons["go-plain+exchange=deflated"] == "it does no permessage-deflate"
    feeds = {condition.id: condition.load.feed for condition in plan.conditions}
    deflated = feeds["exchange=deflated"]
    assert deflated is not None
    assert "--deflate=as-offered" in deflated.arguments()


def with_clients() -> tuple[Registry, list[str]]:
    """The checkout's Python clients, run by the interpreter of these tests."""
    folder = PROJECT.targets / "_fake" / "echo"
    ws = (sys.executable, str(PROJECT.targets / "python/websockets/client.py"))
    fix = (sys.executable, str(PROJECT.targets / "python/simplefix/client.py"))
    made = [
        replace(listener("test/ws", command=ws), folder=folder, knobs=DECODES, options={"deflate": "on"}),
        replace(
            listener("test/fix", speaks=("fix",), command=fix),
            folder=folder,
            knobs={"sink": ("stamps",)},
            options={"parse": "on"},
        ),
    ]
    known = discover(PROJECT)
    states = {**known.states, **{target.name: known.states["_fake/echo"] for target in made}}
    return replace(known, targets=(*known.targets, *made), states=states), [target.name for target in made]


def exchange_has(option: str) -> bool:
    """Whether the exchange that was built here knows the option."""
    if not PROJECT.exchange.exists():
        return False
    told = subprocess.run([PROJECT.exchange, "--help"], capture_output=True, text=True, check=True).stdout
    return option in told


@pytest.mark.end_to_end
@pytest.mark.skipif(not exchange_has("--deflate"), reason="the exchange is not built, or too old")
def test_each_encoding_is_told_with_its_bytes_and_its_cost(tmp_path: Path) -> None:
    registry, targets = with_clients()
    exchanges = SCENARIO[SCENARIO.index("[[feed.exchanges]]") :] + ITCH
    first, rest = exchanges.split("[[feed.exchanges]]", 2)[1:]
    laboratory = Laboratory(
        tmp_path,
        registry,
        targets,
        personality="binance",
        path="/ws/btcusdt@bookTicker",
        more=f'name = "json"\n[[feed.exchanges]]{rest}\n[factors]\nparse = ["off", "on"]',
    )
    assert 'name = "json"' in first
    protocol = replace(laboratory.plan.protocol, measure_ns=800_000_000)
    laboratory.plan = replace(laboratory.plan, protocol=protocol)
    statuses = laboratory.run()
    assert set(verdicts(statuses).values()) == {"ok"}, statuses
    write_plan(laboratory.directory.plan, replace(laboratory.plan, gates=Gates(1e9, 1e9, 1.0, 1.0, 1e9, 1e9)))
    findings = analyze_run(laboratory.directory)
    told = {(entry.exchange, str(entry.factors["parse"])): entry for entry in findings.doors}
    assert set(told) == {
        *((exchange, parse) for exchange in ("json", "sbe", "itch", "deflated") for parse in ("off", "on")),
        ("fix", "on"),
    }
    sizes = {key: entry.message_bytes.value or 0 for key, entry in told.items()}
    # Fixed widths are exact, whatever the prices are: docs/exchange.md, and 2 bytes of a frame's header.
    assert sizes["itch", "off"] == pytest.approx(59)
    assert told["itch", "off"].wire_bytes.value == pytest.approx(61)
    assert sizes["sbe", "off"] == pytest.approx(8 + 50 + 8)
    assert sizes["sbe", "off"] < sizes["json", "off"] < sizes["fix", "on"]
    # Compressed, a message is as long as before when it is handed over, and takes less on the wire.
    deflated, plain = told["deflated", "off"], told["json", "off"]
    assert deflated.wire_bytes.value is not None
    assert plain.wire_bytes.value is not None
    assert deflated.message_bytes.value == pytest.approx(plain.message_bytes.value, rel=0.1)
    assert deflated.wire_bytes.value < 0.9 * plain.wire_bytes.value
    # Parse time is told where the same client ran with and without, and nowhere else.
    for (exchange, parse), entry in told.items():
        if exchange == "fix" or parse == "off":
            assert entry.parse_ns.value is None
        elif entry.cpu_ns.value is not None and told[exchange, "off"].cpu_ns.value is not None:
            without = told[exchange, "off"].cpu_ns.value
            assert entry.parse_ns.value == pytest.approx(entry.cpu_ns.value - without)
    section = doors_section(findings.doors)
    assert section is not None
    assert section.heading == "Encodings"
    assert [figure.name for figure in section.figures] == ["doors-event-age"]
