"""`feedbench pipeline` as a user meets it: on files, on real recordings, on nothing that can be compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from client_files import Message, clients, trade, write_sqlite

SCHEMA = Path(__file__).parents[2] / "spec" / "pipeline.schema.json"
AT_MS = 1_600_000_000_000


def feedbench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from feedbench.cli import main; main()", "pipeline", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def messages(age_ms: int) -> list[Message]:
    return [(AT_MS + at + age_ms + at % 5, trade(AT_MS + at, at)) for at in range(50)]


def recording(name: str) -> Path:
    directory = os.environ.get("FEEDBENCH_RECORDINGS")
    if not directory or not (Path(directory) / name).exists():
        pytest.skip(f"FEEDBENCH_RECORDINGS names no directory with {name}")
    return Path(directory) / name


def test_files_become_a_study_that_keeps_its_schema(tmp_path: Path) -> None:
    clients(tmp_path, {"go-gorilla": messages(5)})
    write_sqlite(tmp_path / "php.sqlite", messages(9))
    done = feedbench(tmp_path, "--out", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == tmp_path / "results" / "study.html"
    document = json.loads((tmp_path / "results" / "pipeline.json").read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert document["scores"]["whiskers"]["places"] == {"go-gorilla": 1, "php-php-wss": 2}


def test_a_study_of_bad_files_keeps_its_schema_and_ends_with_status_1(tmp_path: Path) -> None:
    clients(tmp_path, {"a": messages(5)})
    (tmp_path / "b@binance.stamps").write_bytes(b"")
    done = feedbench(tmp_path, "--out", tmp_path / "results", "--json")
    assert done.returncode == 1
    assert "b@binance.stamps has no byte in it" in done.stderr
    assert "no event could be compared" in done.stderr
    (document,) = json.loads(done.stdout)["studies"]
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["nowhere"], 2, "--out DIR is missing"),
        (["nowhere", "--out", "results"], 1, "there is no such file"),
    ],
)
def test_mistakes_are_one_clear_line(
    tmp_path: Path, arguments: list[str], status: int, complaint: str
) -> None:
    done = feedbench(*arguments)
    assert done.returncode == status
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_real_recorder_that_was_behind_is_told_so(tmp_path: Path) -> None:
    """Its data's README says by 1.272 s; the least age is that of the fastest message."""
    done = feedbench(recording("binance-spot-btcusdt-20240808.gz"), "--out", tmp_path / "results")
    assert done.returncode == 0
    assert "13,208 of 13,208 events (100.0%) were received before they happened" in done.stderr
    assert "(median age -1,273 ms)" in done.stderr
    assert "btcusdt@bookTicker (28,040)" in done.stderr
    document = json.loads((tmp_path / "results" / "pipeline.json").read_text())
    assert document["scores"]["whiskers"] is None


def test_a_real_coinbase_recording_is_read(tmp_path: Path) -> None:
    done = feedbench(recording("coinbase-20210417.gz"), "--out", tmp_path / "results", "--json")
    account = json.loads(done.stdout)["studies"][0]["exchanges"][0]["series"][0]["account"]
    left_out = {each["type"]: each["messages"] for each in account["left_out"]}
    assert account["messages"] == account["events"] + sum(left_out.values()) == 9946
    assert left_out == {"last_match": 10, "snapshot": 10, "subscriptions": 3}
