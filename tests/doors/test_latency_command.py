"""`feedbench latency`: each of its commands against a simulated exchange, and its words for bad input."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.errors import FeedbenchError
from feedbench.paths import Project


@pytest.fixture
def urls() -> Iterator[list[str]]:
    """The options that lead to a Coinbase of this test's own."""
    binary = Project.find().exchange
    if not binary.exists():
        pytest.skip("the exchange is not built (make setup)")
    command = [str(binary), "--personality", "coinbase", "--no-tls", "--rate", "3000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            places = json.loads(process.stdout.readline())["urls"]["coinbase"]
            yield [f"--rest-url={places['rest']}", f"--websocket-url={places['ws']}"]
        finally:
            process.kill()


def printed(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["latency", *arguments, "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_rest_alone(urls: list[str], tmp_path: Path) -> None:
    document = printed("rest", "--duration", "1s", urls[0], "--out", str(tmp_path / "run"))
    assert document["collectors"]["rest"]["messages"] > 0
    assert {row["protocol"] for row in document["summary"]} == {"REST"}
    assert document["clock"]["half_width_ns"] > 0
    assert (tmp_path / "run" / "results.parquet").exists()


def test_websocket_alone_asks_for_the_time_too(urls: list[str]) -> None:
    document = printed("websocket", "--duration", "1s", *urls)
    assert document["collectors"]["websocket"]["messages"] > 0
    feed = next(row for row in document["summary"] if row["event_type"] == "ticker")
    # An offset was taken off: without it the latency would be all the time since 1970.
    assert abs(feed["p50_ms"]) < 60_000


def test_offset_tells_the_papers_figure_and_its_interval(urls: list[str]) -> None:
    document = printed("offset", "--samples", "6", urls[0])
    assert document["samples"] == 6
    assert document["offset_low_ns"] <= document["best_offset_ns"] <= document["offset_high_ns"]
    told = CliRunner().invoke(app, ["latency", "offset", urls[0]])
    assert "The exchange's clock is known to ±" in told.stdout
    assert "This machine's clock:" in told.stdout


def test_bad_input_is_one_clear_line(urls: list[str]) -> None:
    table = {
        ("rest", "--duration", "soon"): '"soon" is not a duration',
        ("rest", "--venue", "coinbas"): 'there is no venue "coinbas"',
        ("offset", "--rest-url", "http://127.0.0.1:1"): "no answer",
        ("fix", "--fix-port", "1", "--duration", "300ms"): "nothing was collected",
        ("rest", "--duration", "1s", urls[0], "--authority", "/nowhere.pem"): "authority to trust",
    }
    for arguments, complaint in table.items():
        done = CliRunner().invoke(app, ["latency", *arguments])
        assert isinstance(done.exception, FeedbenchError), (arguments, done.output, done.exception)
        assert complaint in str(done.exception), arguments
