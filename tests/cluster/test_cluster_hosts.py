"""Three hosts: the echo ladder with client and server apart, and that everything arrives whole."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network import Network

from feedbench.findings import read_findings
from feedbench.paths import RunDirectory
from feedbench.samples import read_samples

pytestmark = pytest.mark.end_to_end


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def check_block(run: RunDirectory, index: int) -> None:
    """Every cell is measured, and each file that came from a host is as it left."""
    folder = run.block(index)
    statuses = {path.parent.name: read(path) for path in folder.glob("*/status.json")}
    assert {status["verdict"] for status in statuses.values()} == {"ok"}, statuses
    assert len(statuses) == len(read(run.plan)["cells"])
    arrived = read(folder / "arrived.json")["files"]
    paths = [entry["path"] for entry in arrived]
    assert len(paths) == len(set(paths))
    for entry in arrived:
        content = (folder / entry["path"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
    for cell in statuses:
        samples, load = read_samples(folder / cell / "samples.fbs"), read(folder / cell / "load.json")
        assert samples.complete
        assert f"{cell}/samples.fbs" in paths
        assert load["sent"] == load["received"] + load["lost"]


def test_client_and_server_apart_on_three_hosts(three_hosts: Network) -> None:
    _, address = three_hosts.scheduler("a")
    target = three_hosts.worker("b", address, "target")
    load = three_hosts.worker("c", address, "load,target")
    three_hosts.joined(target, load)
    scenario = three_hosts.scenario(blocks=2, more="apart = true")
    trust = ("--cluster", address, "--tls", str(three_hosts.tls))
    planned = three_hosts.run("a", "plan", str(scenario), *trust)
    assert planned.process.returncode == 0, planned.said
    assert "on b (10.77.0.2):" in planned.output.read_text()
    assert "The load comes from c (10.77.0.3)." in planned.output.read_text()

    out = three_hosts.folder / "run"
    done = three_hosts.run("a", "run", str(scenario), "--out", str(out), *trust)
    assert done.process.returncode == 0, done.said
    run = RunDirectory(out)
    record = read(out / "run.json")
    assert (record["blocks_done"], record["stopped"]) == ([0, 1], "complete")
    for index in (0, 1):
        check_block(run, index)
        assert read(run.block(index) / "block.json")["hosts"] == {"target": "b", "load": ["c"]}
    url = read(next(run.block(0).glob("*/load.json")))["url"]
    assert url.startswith("ws://10.77.0.2:")
    for host in ("b", "c"):
        clock = read(run.block(0) / "clocks" / f"{host}.json")
        for phase in ("before", "during", "after"):
            low, high = clock[phase]["offset_interval_ns"]
            # One kernel: in truth all clocks are one, and the interval must hold that.
            assert low <= 0 <= high
            assert high - low == clock[phase]["round_trip_ns"]
        assert clock["contradiction"] is None
        assert clock["discipline"]["in_words"]
        assert read(out / "hosts" / f"{host}.json")["hostname"]
    environment = read(next(run.block(0).glob("environment-*.json")))
    assert set(environment["hosts"]) == {"b", "c"}
    worst = max(host["load_average_1m"] for host in environment["hosts"].values())
    assert environment["load_average_1m"] == worst
    assert (out / "report.html").exists()


def decisions(run: Path) -> dict[tuple[str, str, tuple[str, ...]], tuple[str, bool]]:
    """By question, quantile and pair: the outcome, and whether the first of the pair answers sooner."""
    return {
        (question.id, decision.quantile, tuple(decision.pair)): (
            decision.outcome,
            (decision.comparison.ratio or 1.0) < 1,
        )
        for question in read_findings(run / "findings.json").questions
        for decision in question.decisions
    }


def test_three_hosts_decide_as_one_machine_does(three_hosts: Network) -> None:
    """Where the path adds next to nothing: one scenario on host a alone, and with client and server apart.

    Delays of 0, 1 and 6 ms are different on the slowest machine. With 13 blocks and this confidence equals
    come out different once in a thousand runs.
    """
    text = three_hosts.scenario(blocks=13, measure="200ms").read_text()
    for old, new in (
        ('reference = "_fake/echo"', 'reference = "_fake/echo"\ncompare = "delay_ns"'),
        ("connections = [1, 4]", 'delay_ns = ["0", "1000000", "6000000"]'),
        ("shield = false", 'shield = false\nconfidence = 0.999\nquantiles = ["p50"]'),
        ("run_delay_share = 1.0", "run_delay_share = 1.0\nengine_stalls = 1e9"),
    ):
        assert old in text
        text = text.replace(old, new)
    scenario = three_hosts.folder / "delays.toml"
    scenario.write_text(text)
    alone, apart = three_hosts.folder / "alone", three_hosts.folder / "apart"
    done = three_hosts.run("a", "run", str(scenario), "--out", str(alone))
    assert done.process.returncode == 0, done.said
    _, address = three_hosts.scheduler("a")
    three_hosts.joined(three_hosts.worker("b", address, "target"), three_hosts.worker("c", address, "load"))
    trust = ("--cluster", address, "--tls", str(three_hosts.tls))
    done = three_hosts.run("a", "run", str(scenario), "--out", str(apart), "--apart", *trust)
    assert done.process.returncode == 0, done.said
    assert len(decisions(alone)) == 3
    assert {outcome for outcome, _ in decisions(alone).values()} == {"different"}
    assert decisions(alone) == decisions(apart)
    agreed = three_hosts.run("a", "agree", str(alone), str(apart))
    assert agreed.process.returncode == 0, agreed.output.read_text()


LATE_NS = 15_000_000_000
LATE_ENGINE = """#!{python}
import json, os, sys
words = sys.argv[1:]
if "--request" in words:
    file = words[words.index("--request") + 1]
    request = json.load(open(file))
    request["start_at_ns"] += {late_ns}
    json.dump(request, open(file, "w"))
os.execv("{engine}", ["{engine}", *words])
"""


def test_two_agents_load_together_and_a_late_one_is_named(three_hosts: Network) -> None:
    """The engine on host c is told to begin a quarter of a minute later: more than any machine is late."""
    late = three_hosts.folder / "late-engine"
    real = three_hosts.project / "target" / "release" / "feedbench-engine"
    late.write_text(LATE_ENGINE.format(python=sys.executable, engine=real, late_ns=LATE_NS))
    late.chmod(0o755)
    _, address = three_hosts.scheduler("a")
    target = three_hosts.worker("b", address, "target")
    loads = three_hosts.worker("a", address, "load"), three_hosts.worker("c", address, "load", engine=late)
    three_hosts.joined(target, *loads)
    scenario = three_hosts.scenario(blocks=1, measure="500ms")
    text = scenario.read_text().replace("connections = [1, 4]", "connections = [4]")
    scenario.write_text(text + '\n[load]\npacer = "constant"\nrate = 400\n')
    out = three_hosts.folder / "run"
    done = three_hosts.run(
        "a",
        *("run", str(scenario), "--out", str(out), "--cluster", address, "--tls", str(three_hosts.tls)),
        *("--agents", "2"),
    )
    assert done.process.returncode == 0, done.said
    run = RunDirectory(out)
    assert read(run.block(0) / "block.json")["hosts"] == {"target": "b", "load": ["a", "c"]}
    for cell in (entry["id"] for entry in read(run.plan)["cells"]):
        load, samples = read(run.cell(0, cell) / "load.json"), read_samples(run.cell(0, cell) / "samples.fbs")
        agents = {entry["host"]: entry for entry in load["agents"]}
        assert {host: entry["connections"] for host, entry in agents.items()} == {"a": 2, "c": 2}
        assert load["connections"] == 4
        assert agents["c"]["late_slices"] == list(range(load["slices"])), load["skew_ns"]
        # Whether host a, too, was late now and then is the machine's.
        warnings = [each["text"] for each in load["warnings"] if each["code"] == "late_agent"]
        assert any(text.startswith("c began") for text in warnings), warnings
        assert load["skew_ns"]["most"] >= load["skew_ns"]["median"] > 0
        kept = 0
        for host, entry in agents.items():
            own = read_samples(run.cell(0, cell) / "agents" / host / "samples.fbs").records["slice"]
            kept += int((~np.isin(own, entry["late_slices"])).sum())
        assert len(samples) == kept == load["latency_ns"]["count"]
