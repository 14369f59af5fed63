"""One report of the whole sample, drawn once for all tests that read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_sample import PLANTED, hostile_findings, write_run

from feedbench.paths import RunDirectory
from feedbench.report import write_report


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    run = RunDirectory(write_run(tmp_path_factory.mktemp("report") / "20261121-1000-quick"))
    write_report(run)
    return run


@pytest.fixture(scope="session")
def golden_folder() -> Path:
    return Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    run = RunDirectory(write_run(tmp_path_factory.mktemp("hostile") / "run", hostile_findings()))
    run.host.write_text(json.dumps({PLANTED: PLANTED, "cpu_model": PLANTED}))
    write_report(run)
    return run
