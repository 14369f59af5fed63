"""Pure judgements row by row: impossible numbers, options, ceilings, gates, trust."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from feedbench.analyze.ceiling import ceiling_share, is_generator_bound
from feedbench.analyze.gates import GATES
from feedbench.analyze.impossible import Witness, check_cell, check_published
from feedbench.analyze.options import differences, options_in_force
from feedbench.analyze.questions import judge_trust
from feedbench.findings import Comparison, ControlFinding, SentinelFinding
from feedbench.findings.comparison import Outcome
from feedbench.load import CapacityShare, Closed, Constant, Load, Payload, Poisson

LOAD = Load(Closed(1), 1, "/echo", Payload("binary", bytes=108), False, "engine", "epoll", 2_000_000_000)
SUMMARY = {"count": 900, "min": 900, "mean": 1_000.0, "p50": 990, "p90": 1_100, "p99": 1_200, "max": 1_300}
RESULT: dict[str, Any] = {
    "sent": 900,
    "received": 900,
    "lost": 0,
    "sent_total": 2_000,
    "received_total": 2_000,
    "measured_ns": 1_000_000,
    "slices": 1,
    "round_trips_per_s": 900_000.0,  # × 1 µs = 0.9 of one client
    "latency_ns": SUMMARY,
    "latency_from_send_ns": SUMMARY,
}
WITNESS = Witness(900, complete=True, backwards=0, waits_ns=900_000, edge_ns=1_300, p50_ns=990, p99_ns=1_200)


def laws(result: dict[str, Any] | None = None, witness: dict[str, Any] | None = None) -> list[str]:
    seen = Witness(**{**WITNESS.__dict__, **(witness or {})})
    return [law.check for law in check_cell(LOAD, {**RESULT, **(result or {})}, seen)]


@pytest.mark.parametrize(
    ("result", "witness", "broken", "why"),
    [
        ({}, {}, [], "a sound cell"),
        ({"lost": 1}, {}, ["counts"], "sent = received + lost"),
        ({"sent": 903, "interrupted": True}, {}, [], "^C caught three messages under way"),
        ({"sent": 890, "interrupted": True}, {}, ["counts"], "but it can't receive what was not sent"),
        ({"sent_total": 800}, {}, ["counts"], "a total holds its part"),
        ({"round_trips_per_s": 1_030_000.0}, {}, ["littles_law"], "more than one message under way"),
        ({"round_trips_per_s": 1_016_000.0}, {}, [], "what an edge of the window can explain"),
        ({"round_trips_per_s": 300_000.0}, {}, ["littles_law"], "a closed loop that mostly idles"),
        ({"latency_ns": {**SUMMARY, "p50": 1_150}}, {"p50_ns": 1_150}, ["order"], "p50 above p90"),
        ({"latency_ns": {**SUMMARY, "mean": 1_400.0}}, {}, ["order"], "mean above maximum"),
        ({}, {"backwards": 2}, ["time_order"], "received before sent"),
        ({}, {"count": 899}, ["samples"], "a sample is missing from a whole file"),
        ({}, {"count": 899, "complete": False}, [], "a file cut short may lack some"),
        ({}, {"count": 901, "complete": False}, ["samples"], "but not have more"),
        ({}, {"p99_ns": 1_201}, ["samples"], "engine and samples disagree by a nanosecond"),
        ({}, {"waits_ns": 1_200_000}, ["waits"], "more waiting than time"),
    ],
)
def test_laws(result: dict[str, Any], witness: dict[str, Any], broken: list[str], why: str) -> None:
    assert laws(result, witness) == broken, why


@pytest.mark.parametrize(
    ("rate", "mean_ms", "clients", "sound"),
    [
        (3255.3, 0.31, 1, True),
        (5966.5, 0.33, 2, True),  # 1.6 % off, but 0.33 may have been 0.335
        (11530.2, 11.11, 128, True),
        (12530.2, 11.11, 128, False),
        (100_000.0, 5.0, 100, False),  # 500 messages under way from 100 clients
    ],
)
def test_published_rows(rate: float, mean_ms: float, clients: int, sound: bool) -> None:
    broken = list(
        check_published(
            round_trips_per_s=rate, mean_latency_ns=mean_ms * 1e6, clients=clients, rounding_ns=5_000
        )
    )
    assert (broken == []) == sound


def test_the_wire_beats_the_knob_and_the_knob_the_manifest() -> None:
    options = options_in_force(
        {"deflate": "off", "threads": "1", "log_messages": "false"},
        {"log_messages": "true", "deflate": "off", "delay_ns": "5000"},
        {
            "deflate": "permessage-deflate; client_no_context_takeover",
            "tls": None,
            "congestion_control": "bbr",
        },
    )
    assert options == {
        "deflate": "permessage-deflate; client_no_context_takeover",
        "threads": "1",
        "log_messages": "true",
        "tls": "off",
        "congestion_control": "bbr",
    }
    assert options_in_force({"deflate": "off"}, {}, {}) == {"deflate": "off"}


def test_differences_are_named_with_their_holders() -> None:
    options = {"a": {"x": "1", "y": "1"}, "b": {"x": "2", "y": "1"}, "c": {"y": "1"}}
    (difference,) = differences(options)
    assert difference.values == {"1": ("a",), "2": ("b",), "unknown": ("c",)}
    assert difference.text == "x is 1 for a; 2 for b; unknown for c"
    assert differences(options, compared="x") == []
    assert differences({"a": {"x": "1"}, "b": {}}) == []  # one that says nothing is no difference


CEILINGS = [{"connections": 1, "in_flight": 1, "bytes": 108, "round_trips_per_s": 40_000.0}]


@pytest.mark.parametrize(
    ("change", "share"),
    [
        ({}, 0.9),
        ({"connections": 2}, None),
        ({"pacer": Closed(8)}, None),
        ({"pacer": Constant(1000)}, None),
        ({"client": "own"}, None),
        ({"payload": Payload("binary", bytes=37)}, None),
    ],
)
def test_the_certificate_holds_for_the_same_load_only(change: dict[str, Any], share: float | None) -> None:
    found = ceiling_share(36_000.0, Load(**{**LOAD.__dict__, **change}), CEILINGS)
    assert found == share
    assert is_generator_bound(found) == (share is not None)
    assert not is_generator_bound(0.89)


def gate(name: str, environment: dict[str, Any], *cells: tuple[Load, dict[str, Any]]) -> float | None:
    return next(gate for gate in GATES if gate.name == name).measure(environment, list(cells), ("p50", "p99"))


def open_loop(pacer: Constant | Poisson, sent: int) -> tuple[Load, dict[str, Any]]:
    load = Load(**{**LOAD.__dict__, "pacer": pacer})
    return load, {"measured_ns": 1_000_000_000, "sent": sent}


def own_share(schedule: Literal["constant", "poisson"], sent: int) -> tuple[Load, dict[str, Any]]:
    load = Load(**{**LOAD.__dict__, "pacer": CapacityShare(schedule, 0.5)})
    return load, {"measured_ns": 1_000_000_000, "sent": sent, "pacer": {"rate_per_s": 1000.0}}


@pytest.mark.parametrize(
    ("cells", "value", "why"),
    [
        ([], None, "nothing to say"),
        ([(LOAD, RESULT)], None, "a closed loop has no rate to miss"),
        ([open_loop(Constant(1_000), 999)], 0.0, "one message more or less is the edge of the second"),
        ([open_loop(Constant(1_000), 900)], 0.099, "a tenth short"),
        ([open_loop(Poisson(1_000), 920)], 0.0, "80 short of 1,000 is chance for Poisson (2.5 σ)"),
        ([own_share("constant", 900)], 0.099, "a share is held to what the engine was told"),
        ([own_share("poisson", 920)], 0.0, "and a share may scatter, too"),
        ([open_loop(Constant(1_000), 1_000)] * 2 + [open_loop(Constant(1_000), 100)], 0.0, "one slow target"),
    ],
)
def test_the_achieved_rate(cells: list[tuple[Load, dict[str, Any]]], value: float | None, why: str) -> None:
    assert gate("achieved_rate_share", {}, *cells) == (value if value is None else pytest.approx(value)), why


@pytest.mark.parametrize(
    ("shares", "other", "slices", "value", "why"),
    [
        ([0.02, 0.1, 0.4], 0.3, 40, 0.02, "interleaved: what the least affected waited"),
        ([0.1, 0.2, 0.4], 0.3, 1, 0.2, "one after the other: the median"),
        ([0.2, 0.3], 0.01, 40, 0.01, "nobody else was there to wait for"),
        ([0.2, 0.3], None, 40, 0.2, "an older run that did not look"),
        ([], 0.5, 40, None, "no target told"),
    ],
)
def test_the_run_delay(
    shares: list[float], other: float | None, slices: int, value: float | None, why: str
) -> None:
    environment = {"target_run_delay_share": {str(k): share for k, share in enumerate(shares)}}
    found = gate("run_delay_share", environment | {"other_work_share": other}, (LOAD, {"slices": slices}))
    assert found == value, why


def comparison(outcome: Outcome, blocks: int = 11) -> Comparison:
    return Comparison(outcome, 1.1, (1.09, 1.11), 0.001, 0.001, margin=0.01, blocks=blocks)


def sentinel(*, passed: bool) -> SentinelFinding:
    return SentinelFinding(passed, ("a", "b"), {"p50": comparison("equivalent" if passed else "different")})


def control(*, passed: bool, sensitive: bool) -> ControlFinding:
    outcome: Outcome = "different" if sensitive else "undecided"
    return ControlFinding(
        passed, ("a", "b"), 5_000, (5_000, 5_000), 5_010, (4_900, 5_100), comparison(outcome)
    )


PASSED = control(passed=True, sensitive=True)


@pytest.mark.parametrize(
    ("blocks", "measured", "shown", "delayed", "withheld", "outcomes"),
    [
        (11, 8, sentinel(passed=True), PASSED, None, {"different", "equivalent"}),
        (5, 8, sentinel(passed=True), PASSED, "5 blocks are left", set()),
        (11, 1, sentinel(passed=True), PASSED, "fewer than two", set()),
        (11, 8, None, PASSED, "no A/A sentinel", set()),
        (11, 8, sentinel(passed=False), PASSED, "A/A sentinel failed", set()),
        (11, 8, sentinel(passed=True), None, "no control", {"different"}),
        (11, 8, sentinel(passed=True), control(passed=False, sensitive=False), "not found", {"different"}),
        (11, 8, sentinel(passed=True), control(passed=False, sensitive=True), "wrong sign or size", set()),
    ],
)
def test_what_sentinel_and_control_allow(
    blocks: int,
    measured: int,
    shown: SentinelFinding | None,
    delayed: ControlFinding | None,
    withheld: str | None,
    outcomes: set[str],
) -> None:
    trust = judge_trust(blocks, measured, shown, delayed)
    assert set(trust.outcomes) == outcomes
    if withheld is None:
        assert trust.withheld is None
    else:
        assert trust.withheld is not None
        assert withheld in trust.withheld
