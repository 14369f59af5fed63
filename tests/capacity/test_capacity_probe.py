"""Experiments: what counts as in time, with results as the engine writes them; and the command's words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedbench.capacity.probe import Limit, Probe, brief_capacity, clients_experiment, rate_experiment
from feedbench.cli import app
from feedbench.errors import EngineError, FeedbenchError
from feedbench.load import Closed, Load, Payload

LOAD = Load(
    pacer=Closed(in_flight=1),
    connections=4,
    path="/echo",
    payload=Payload("binary", bytes=108),
    offer_deflate=False,
    client="engine",
    transport="epoll",
    timeout_ns=1_000_000_000,
)
# An engine whose latency grows with its connections and whose target keeps up to 5,000 messages/s.
ENGINE = """\
import json, sys
request = json.load(open(sys.argv[3]))
target = request["targets"][0]
rate = target["pacer"].get("rate_per_s", 0)
p95 = target["connections"] * 10_000
verdict = "missed_rate" if rate > 5000 else "ok"
result = {"verdict": verdict, "cause": None, "url": target["url"], "round_trips_per_s": 4000.0,
          "latency_ns": {"count": 1000, "p95": p95}}
print(json.dumps(result))
"""


def probe(tmp_path: Path, program: str = ENGINE) -> Probe:
    engine = tmp_path / "engine"
    engine.write_text(f"#!{sys.executable}\n{program}", encoding="utf-8")
    engine.chmod(0o755)
    return Probe(engine, "ws://127.0.0.1:1/echo", LOAD, measure_s=0.1, warmup_s=0.0)


def result(**changes: Any) -> dict[str, Any]:
    latency = {"count": changes.pop("count", 1000), "p95": changes.pop("p95", 1000)}
    return {"verdict": "ok", "url": "ws://x/", "latency_ns": latency, **changes}


def test_in_time_wants_a_good_verdict_and_the_quantile_below_its_limit() -> None:
    limit = Limit("p95", 1001)
    assert limit.kept(result())
    assert not limit.kept(result(p95=1001))
    assert not limit.kept(result(verdict="failed"))
    assert not limit.kept(result(verdict="missed_rate"))
    assert Limit("p95", None).kept(result(p95=10**12))


def test_too_few_messages_are_an_error_and_no_answer() -> None:
    with pytest.raises(FeedbenchError, match="p95 needs 72"):
        Limit("p95", 1001).kept(result(count=71))
    assert not Limit("p95", 1000).kept(result(count=71)), "late is late"
    assert not Limit("p95", 1000).kept(result(count=0, p95=None))


def test_experiments_vary_what_they_are_named_after(tmp_path: Path) -> None:
    holds = clients_experiment(probe(tmp_path), Limit("p95", 500_000))
    assert [holds(49), holds(50)] == [True, False]
    keeps = rate_experiment(probe(tmp_path), Limit("p95", None))
    assert [keeps(5000), keeps(5001)] == [True, False]
    assert brief_capacity(probe(tmp_path)) == 4000.0


def test_an_engine_without_a_result_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="planted"):
        probe(tmp_path, "import sys; sys.exit('planted')").measure(LOAD)
    failing = ENGINE.replace('"missed_rate" if rate > 5000 else "ok"', '"failed"').replace(
        "None", '"planted"'
    )
    with pytest.raises(EngineError, match="planted"):
        brief_capacity(probe(tmp_path, failing))


def test_the_command_finds_a_planted_capacity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBENCH_ENGINE", str(probe(tmp_path).engine))
    url = "ws://127.0.0.1:1/echo"
    done = CliRunner().invoke(
        app, ["capacity", url, "--below", "1ms", "--precision", "0.02", "--repeats", "2", "--json"]
    )
    found = json.loads(done.stdout)
    assert 97 <= found["value"] <= 99, found
    done = CliRunner().invoke(app, ["capacity", url, "--of", "rate", "--precision", "0.02", "--repeats", "2"])
    assert "messages/s at the offered rate (range of 2:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--of", "users"], '--of is "users"'),
        (["--quantile", "p97"], '--quantile is "p97"'),
        ([], "waiting clients keep every rate"),
        (["--below", "5"], "not a duration"),
        (["--below", "0ms"], "a time of 0"),
        (["--below", "5ms", "--payload", "file:x"], "is no payload"),
    ],
)
def test_bad_options_are_refused_in_words(arguments: list[str], complaint: str) -> None:
    done = CliRunner().invoke(app, ["capacity", "ws://127.0.0.1:1/", *arguments])
    assert isinstance(done.exception, FeedbenchError)
    assert complaint in str(done.exception)
