"""A ramp's numbers beside those that Tomasetti's text states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ramp_lines import end_line, round_line

from feedbench.errors import FeedbenchError
from feedbench.papers import read_paper
from feedbench.papers.quantity import Quantity, Reproduction
from feedbench.papers.reproduction import reproduce
from feedbench.paths import Project, write_json
from feedbench.ramp.campaign import read_campaign
from feedbench.ramp.record import repeat_file

PROJECT = Project.find(Path(__file__).parent)
PAPERS = PROJECT.root / "papers"


def quantity(reproduction: Reproduction, table: str, column: str) -> Quantity:
    (found,) = [each for each in reproduction.quantities if (each.table, each.column) == (table, column)]
    return found


def record(run: Path, target: str, lines: list[Mapping[str, Any]]) -> None:
    path = repeat_file(run, target, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def tomasetti(tmp_path: Path) -> Path:
    """Go comes to the end of a ramp of 30 clients, Python's websockets breaks in its second round."""
    whole = read_campaign(PROJECT.scenarios / "papers" / "tomasetti.toml")
    campaign = replace(whole, targets=("go/gorilla", "python/websockets"), repeats=1)
    run = tmp_path / "ramp"
    write_json(run / "ramp.json", campaign.to_json())
    record(run, "go/gorilla", [*(round_line(number) for number in (1, 2, 3)), end_line(3)])
    broken = [round_line(1), round_line(2, answered=160, ended="silence"), round_line(3, answered=0)]
    record(run, "python/websockets", [*broken, end_line(3, stopped="nothing_answered", broken=2)])
    return run


def test_a_ramp_that_came_less_far_has_no_total_and_says_so(tomasetti: Path) -> None:
    reproduction = reproduce(read_paper(PAPERS / "tomasetti.toml"), tomasetti)
    assert quantity(reproduction, "go", "request_min").lines[0].measured == (None,)
    assert quantity(reproduction, "python-websockets", "last_round").lines[0].measured == (2,)
    assert "go/gorilla came to 30 of the 10,000 clients printed, so its totals are not comparable" in (
        reproduction.remarks
    )
    assert any("rust/rust-websocket was not measured" in remark for remark in reproduction.remarks)


def test_a_ramp_of_as_many_clients_has_its_totals(tomasetti: Path, tmp_path: Path) -> None:
    text = (PAPERS / "tomasetti.toml").read_text(encoding="utf-8")
    path = tmp_path / "small.toml"
    path.write_text(text.replace("rows = [[10000, 8.8, 100]]", "rows = [[30, 8.8, 100]]"), encoding="utf-8")
    reproduction = reproduce(read_paper(path), tomasetti)
    # Rounds of 10, 20 and 30 ms of requests; 3 ms of connecting in each.
    assert quantity(reproduction, "go", "request_min").lines[0].measured == pytest.approx((0.06 / 60,))
    assert quantity(reproduction, "go", "connection_s").lines[0].measured == pytest.approx((0.009,))


def test_a_ramp_is_no_run_of_another_study(tomasetti: Path) -> None:
    with pytest.raises(FeedbenchError, match='not of the study "salih"'):
        reproduce(read_paper(PAPERS / "salih.toml"), tomasetti)
