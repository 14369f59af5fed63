"""What several agents measured is added up: samples and counts, never quantiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedbench.cluster.agents import (
    AgentResult,
    late_slices,
    merge,
    merged_log,
    shared_requests,
    summary,
    write_merged,
)
from feedbench.errors import ClusterError
from feedbench.samples import RECORD, Ending, Records, Samples, read_samples, write_samples

MS = 1_000_000
SLICE_NS = 25 * MS
SLICES = 8


def records(*, begin_ns: int, latency_ns: list[int], late_ns: int = 0, late_from: int = SLICES) -> Records:
    """Each slice has one message for every latency; slices from `late_from` on begin `late_ns` late."""
    made = np.zeros(SLICES * len(latency_ns), RECORD)
    for number in range(SLICES):
        for at, latency in enumerate(latency_ns):
            row = made[number * len(latency_ns) + at]
            due_ns = begin_ns + number * 30 * MS + at * MS + (late_ns if number >= late_from else 0)
            row["intended_ns"], row["sent_ns"] = due_ns, due_ns + 10
            row["received_ns"], row["slice"] = due_ns + latency, number
            row["connection"] = at % 2
    return made


def load(made: Records, **changes: Any) -> dict[str, Any]:
    count = len(made)
    usual: dict[str, Any] = {
        "schema": 1,
        "name": "a+all",
        "url": "ws://10.0.0.2:1/echo",
        "verdict": "ok",
        "cause": None,
        "sent": count,
        "received": count,
        "lost": 0,
        "duplicated": 0,
        "out_of_order": 0,
        "wrong": 0,
        "sent_total": count + 5,
        "received_total": count + 5,
        "connections": 2,
        "handshakes": 2,
        "measured_ns": SLICES * SLICE_NS,
        "slices": SLICES,
        "round_trips_per_s": 100.0,
        "bytes_per_s": 1.0,
        "handshakes_per_s": 1.0,
        "engine_cpu_ns": 7,
        "engine_stalls": 0,
        "reconnects": 0,
        "interrupted": False,
        "errors": [],
        "warnings": [],
        "lateness_ns": summary(np.array([10], np.uint64)),
    }
    return {**usual, **changes}


def agent(host: str, made: Records, *, offset_ns: int = 0, **changes: Any) -> AgentResult:
    """Its slices begin with their first messages, if `changes` don't say when."""
    samples = Samples({"name": "a+all", "drop_first": 0.1}, made, Ending.COMPLETE)
    numbers = np.unique(made["slice"])
    starts = [int(made["intended_ns"][made["slice"] == number].min()) for number in numbers]
    return AgentResult(host, offset_ns, load(made, **{"slice_starts_ns": starts, **changes}), samples)


FAST, SLOW = [100, 200, 300, 400], [5_000, 6_000, 7_000, 8_000]
HOUR_NS = 3_600_000_000_000


def test_samples_of_two_agents_are_those_of_one() -> None:
    # The second host's clock shows an hour more; its messages fell into the same slices.
    first = agent("b", records(begin_ns=10**12, latency_ns=FAST))
    second = agent("c", records(begin_ns=10**12 + HOUR_NS, latency_ns=SLOW), offset_ns=HOUR_NS)
    merged = merge([first, second], turn_ns=SLICE_NS, uncertain_ns=7)
    every = sorted(FAST * SLICES + SLOW * SLICES)
    latency = merged.records["received_ns"] - merged.records["intended_ns"]
    assert sorted(latency.tolist()) == every
    assert merged.load["latency_ns"]["p50"] == every[len(every) // 2 - 1]
    # The mean of the two medians would be 3,100: a latency that no message had.
    assert merged.load["latency_ns"]["p50"] == 400
    assert (merged.load["sent"], merged.load["connections"]) == (64, 4)
    assert merged.load["round_trips_per_s"] == pytest.approx(200.0)
    assert merged.load["skew_ns"] == {"median": 0, "most": 0, "uncertain": 7}
    assert set(merged.records["connection"].tolist()) == {0, 1, 2, 3}
    assert merged.records["intended_ns"].max() < 10**12 + HOUR_NS
    assert dict.fromkeys("bc", ()) == merged.late


def test_a_late_agent_is_named_and_its_slices_are_left_out() -> None:
    good = agent("b", records(begin_ns=10**12, latency_ns=FAST))
    slow = agent("c", records(begin_ns=10**12, latency_ns=SLOW, late_ns=4 * MS, late_from=6))
    assert late_slices([good, slow], turn_ns=SLICE_NS) == {"b": (), "c": (6, 7)}
    merged = merge([good, slow], turn_ns=SLICE_NS, uncertain_ns=0)
    assert merged.late == {"b": (), "c": (6, 7)}
    assert len(merged.records) == 2 * SLICES * 4 - 2 * 4
    assert merged.load["sent"] == merged.load["received"] == len(merged.records)
    assert merged.load["round_trips_per_s"] == pytest.approx(100.0 + 100.0 * 6 / 8)
    assert [warning["code"] for warning in merged.load["warnings"]] == ["late_agent"]
    assert "c began 2 of 8 slices late" in merged.load["warnings"][0]["text"]
    assert merged.load["skew_ns"]["most"] == 4 * MS


def test_a_little_late_is_not_late() -> None:
    good = agent("b", records(begin_ns=10**12, latency_ns=FAST))
    other = agent("c", records(begin_ns=10**12 + 2 * MS, latency_ns=FAST))
    assert late_slices([good, other], turn_ns=SLICE_NS) == {"b": (), "c": ()}


def test_who_has_nothing_to_send_yet_is_not_late() -> None:
    """Between messages that come at random there may be most of a slice."""
    begun = [10**12 + number * 30 * MS for number in range(SLICES)]
    good = agent("b", records(begin_ns=10**12, latency_ns=FAST), slice_starts_ns=begun)
    rare = agent("c", records(begin_ns=10**12 + 20 * MS, latency_ns=FAST), slice_starts_ns=begun)
    merged = merge([good, rare], turn_ns=SLICE_NS, uncertain_ns=0)
    assert merged.late == {"b": (), "c": ()}
    assert merged.load["skew_ns"]["most"] == 0
    assert "slice_starts_ns" not in merged.load


def test_two_halves_are_the_whole_whatever_the_split() -> None:
    """One agent's messages, dealt out to two: every sample and every quantile is that of the one."""
    random = np.random.default_rng(7)
    whole = records(begin_ns=10**12, latency_ns=[int(each) for each in random.pareto(1.5, 500) * 10_000])
    half = random.random(len(whole)) < 0.5
    begun = [10**12 + number * 30 * MS for number in range(SLICES)]
    one = merge([agent("b", whole, slice_starts_ns=begun)], turn_ns=SLICE_NS, uncertain_ns=0)
    parts = [
        agent("b", whole[half], slice_starts_ns=begun),
        agent("c", whole[~half], slice_starts_ns=begun),
    ]
    two = merge(parts, turn_ns=SLICE_NS, uncertain_ns=0)
    for name in ("latency_ns", "latency_from_send_ns", "lateness_ns"):
        assert two.load[name] == pytest.approx(one.load[name])
    for column in ("intended_ns", "sent_ns", "received_ns", "slice"):
        assert np.array_equal(np.sort(two.records[column]), np.sort(one.records[column]))


def test_the_worst_verdict_is_the_cells_with_every_cause() -> None:
    made = records(begin_ns=10**12, latency_ns=FAST)
    agents = [
        agent("b", made, verdict="missed_rate", cause="slow"),
        agent("c", made, verdict="failed", cause="x"),
    ]
    merged = merge(agents, turn_ns=SLICE_NS, uncertain_ns=0)
    assert (merged.load["verdict"], merged.load["cause"]) == ("failed", "b: slow; c: x")


def test_shares_make_the_whole() -> None:
    target = {"name": "a+all", "connections": 5, "pacer": {"kind": "constant", "rate_per_s": 1000.0}}
    shares = shared_requests({"seed": 3, "targets": [target]}, 2, path_ns=40 * MS)
    assert [share["targets"][0]["connections"] for share in shares] == [3, 2]
    assert [share["targets"][0]["pacer"]["rate_per_s"] for share in shares] == [600.0, 400.0]
    assert [(share["seed"], share["agent"]) for share in shares] == [(3, 0), (3, 1)]
    assert [share["turn_gap_ns"] for share in shares] == [50 * MS, 50 * MS]
    with pytest.raises(ClusterError, match="5 connections can't come from 6 hosts"):
        shared_requests({"targets": [target]}, 6, path_ns=0)


def test_histograms_are_added_by_their_readers() -> None:
    head = '#[Histogram log format version 1.3]\n"StartTimestamp"\n'
    log = merged_log([head + "Tag=latency,0,1,2,AAA\n", head + "Tag=latency,0,1,2,BBB\n"])
    assert log == head + "Tag=latency,0,1,2,AAA\nTag=latency,0,1,2,BBB\n"


def test_a_cells_files_are_written_from_those_of_its_agents(tmp_path: Path) -> None:
    for host, latency in (("b", FAST), ("c", SLOW)):
        folder = tmp_path / "agents" / host
        folder.mkdir(parents=True)
        made = records(begin_ns=10**12, latency_ns=latency)
        write_samples(folder / "samples.fbs", made, name="a+all", drop_first=0.1)
        (folder / "load.json").write_text(json.dumps(load(made)))
        (folder / "histogram.hlog").write_text("#head\nTag=latency,0,1,2,AAA\n")
    write_merged(tmp_path, {"b": 0, "c": 0}, turn_ns=SLICE_NS, uncertain_ns=0)
    samples = read_samples(tmp_path / "samples.fbs")
    assert (samples.complete, len(samples), samples.header["drop_first"]) == (True, 64, 0.1)
    assert json.loads((tmp_path / "load.json").read_text())["latency_ns"]["max"] == 8_000
    assert (tmp_path / "histogram.hlog").read_text().count("Tag=") == 2


def test_without_every_agents_result_the_cell_has_none(tmp_path: Path) -> None:
    (tmp_path / "agents" / "b").mkdir(parents=True)
    write_merged(tmp_path, {"b": 0, "c": 0}, turn_ns=SLICE_NS, uncertain_ns=0)
    assert not (tmp_path / "load.json").exists()
