"""Echo clients of a target's own: cut to the measured part, summed up exactly, and their faults."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laboratory import Laboratory, make_laboratory

from feedbench.errors import TargetError
from feedbench.load import Payload
from feedbench.run.interruption import Interruption
from feedbench.run.own_client import (
    RANKS,
    call_client,
    payload_content,
    payload_file,
    record,
    split,
    summarise,
    warmup_bins,
)
from feedbench.samples import RECORD, Records, read_samples

MS = 1_000_000


def records(*rows: tuple[int, int, int]) -> Records:
    """(intended, sent, received) in ms."""
    return np.array([(a * MS, b * MS, c * MS, 0, 0) for a, b, c in rows], dtype=RECORD)


def test_samples_are_cut_by_their_intended_time() -> None:
    # Warm-up of 100 ms, then 200 ms; the last message was asked for after the end.
    whole = records(
        (1000, 1000, 1001), (1099, 1099, 1101), (1100, 1100, 1101), (1299, 1299, 1500), (1300, 1300, 1301)
    )
    warm, measured = split(whole, 100 * MS, 200 * MS)
    assert list(warm["intended_ns"] // MS) == [1000, 1099]
    assert list(measured["intended_ns"] // MS) == [1100, 1299]


def test_no_samples_are_no_samples() -> None:
    warm, measured = split(records(), 1, 1)
    assert len(warm) == len(measured) == 0
    assert summarise(measured["received_ns"])["p50"] is None
    assert warmup_bins(warm) == []


@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=300))
def test_quantiles_are_by_nearest_rank_and_never_pass_through_a_float(values: list[int]) -> None:
    found = summarise(np.array(values, dtype=np.uint64))
    ordered = sorted(values)
    for name, rank in RANKS.items():
        assert found[name] == ordered[math.ceil(len(values) * rank / 10_000) - 1]
    assert (found["count"], found["min"], found["max"]) == (len(values), ordered[0], ordered[-1])


def test_warm_up_bins_are_50_ms_wide() -> None:
    bins = warmup_bins(records((0, 0, 1), (49, 49, 52), (120, 120, 122)))
    assert [(entry["start_ns"], entry["count"], entry["p50"]) for entry in bins] == [
        (0, 2, 1 * MS),
        (50 * MS, 0, None),
        (100 * MS, 1, 2 * MS),
    ]


@pytest.mark.parametrize("kind", ["binary", "text", "json"])
@pytest.mark.parametrize("size", [20, 37, 108, 1000])
def test_a_payload_has_its_size_and_kind(kind: str, size: int) -> None:
    content = payload_content(kind, size)
    assert len(content) == size
    if kind == "json":
        assert json.loads(content)["c"] == 0
    if kind == "text":
        content.decode("ascii")


def test_a_payload_of_the_scenario_is_taken_as_it_is(tmp_path: Path) -> None:
    assert payload_file(Payload("file", file="a/b"), root=tmp_path, folder=tmp_path) == tmp_path / "a/b"


# A client that needs no server: it sends one message every millisecond and is answered after a quarter of
# one.
CLIENT = """
import json, sys, time
from pathlib import Path
import numpy as np
from feedbench.samples import RECORD, write_samples
options = [word for word in sys.argv[2:] if word != "--binary"]
given = dict(zip(options[::2], options[1::2]))
fault = sys.argv[1]
if fault == "hang":
    time.sleep(60)
if fault in ("3", "127"):
    sys.exit("no such thing") if fault == "3" else sys.exit(127)
start, count = time.monotonic_ns(), int(given["--duration-ns"]) // 1_000_000
sent = [start + n * 1_000_000 for n in range(count)]
rows = [(at, at, at + 250_000, 0, 0) for at in sent]
out = Path(given["--samples"])
write_samples(out, np.array(rows, dtype=RECORD), name="x")
if fault == "cut":
    out.write_bytes(out.read_bytes()[:-40])
if fault != "silent":
    received = count - (fault == "lost")
    counts = {"schema": 1, "sent": count, "received": received, "wrong": int(fault == "wrong")}
    Path(given["--summary"]).write_text(json.dumps(counts))
"""


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    return make_laboratory(tmp_path)


def drive(lab: Laboratory, folder: Path, fault: str) -> Any:
    script = folder / "client.py"
    script.write_text(CLIENT)
    target = lab.registry.get("_fake/echo")
    client = replace(target, echo_client_command=(sys.executable, str(script), fault))
    with Interruption() as interruption:
        return call_client(
            client,
            lab.plan.conditions[0].load,
            lab.plan.protocol,
            url="ws://127.0.0.1:1/echo",
            folder=folder,
            log=folder / "client.log",
            project=lab.project,
            cpus=(),
            bystanders={},
            interruption=interruption,
            alarm=None,
            tick=lambda: None,
        )


def kept(lab: Laboratory, folder: Path) -> dict[str, Any]:
    protocol, load = lab.plan.protocol, lab.plan.conditions[0].load
    return record(folder, name="cell", url="ws://x", load=load, protocol=protocol, cpu=1, cpu_ns=5)


def test_a_good_client_is_recorded_in_the_engine_s_shape(lab: Laboratory, tmp_path: Path) -> None:
    call = drive(lab, tmp_path, "")
    assert call.outcome is None
    assert call.cpu_ns > 0
    load = kept(lab, tmp_path)
    protocol = lab.plan.protocol
    measured = protocol.measure_ns // MS
    assert load["received"] == measured
    assert load["round_trips_per_s"] == 1_000.0
    assert load["latency_ns"]["p99"] == load["latency_ns"]["min"] == 250_000
    assert load["sent_total"] == (protocol.warmup_ns + protocol.measure_ns) // MS
    assert json.loads((tmp_path / "load.json").read_text()) == load
    samples = read_samples(tmp_path / "samples.fbs")
    assert (samples.complete, len(samples)) == (True, measured)


FAULTS = [
    ("it ends with an error", "3", "failed", "ended with status .*no such thing"),
    ("it says that it can't", "127", "unsupported", "status 127"),
]


@pytest.mark.parametrize(("what", "fault", "verdict", "cause"), FAULTS, ids=[row[0] for row in FAULTS])
def test_a_client_s_fault_is_an_outcome(
    lab: Laboratory, tmp_path: Path, what: str, fault: str, verdict: str, cause: str
) -> None:
    outcome = drive(lab, tmp_path, fault).outcome
    assert outcome.verdict == verdict, what
    assert re.search(cause, outcome.cause)


@pytest.mark.parametrize("fault", ["cut", "silent"])
def test_unusable_results_are_one_clear_error(lab: Laboratory, tmp_path: Path, fault: str) -> None:
    assert drive(lab, tmp_path, fault).outcome is None
    with pytest.raises(TargetError, match="client"):
        kept(lab, tmp_path)


def test_what_the_client_lost_and_saw_wrong_is_kept(lab: Laboratory, tmp_path: Path) -> None:
    drive(lab, tmp_path, "lost")
    assert kept(lab, tmp_path)["lost"] == 1
    drive(lab, tmp_path, "wrong")
    assert kept(lab, tmp_path)["wrong"] == 1


def test_a_target_without_a_client_is_unsupported(lab: Laboratory, tmp_path: Path) -> None:
    with Interruption() as interruption:
        call = call_client(
            lab.registry.get("_fake/echo"),
            lab.plan.conditions[0].load,
            lab.plan.protocol,
            url="",
            folder=tmp_path,
            log=tmp_path / "log",
            project=lab.project,
            cpus=(),
            bystanders={},
            interruption=interruption,
            alarm=None,
            tick=lambda: None,
        )
    assert call.outcome is not None
    assert call.outcome.verdict == "unsupported"
