"""Clients crossed with servers, in words, figures and on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from report_sample import write_run

from feedbench.findings import CrossingFinding, LevelEffect, OwnPairs, PartFinding
from feedbench.paths import RunDirectory
from feedbench.report import write_report
from feedbench.report.crossing import crossing_section, crossing_sentences
from feedbench.report.figures.crossing import crossing_figures
from feedbench.report.render import static_svg
from feedbench.typed_json import to_json

OWN = OwnPairs(
    pair=("python/websockets", "python/tornado"),
    ratio=1.8,
    interval=(1.7, 1.9),
    server=1.2,
    server_interval=(1.15, 1.25),
    client=1.5,
    client_interval=(1.45, 1.55),
    interaction=1.01,
    interaction_interval=(0.98, 1.04),
)
CROSSING = CrossingFinding(
    id="connections=1,p50",
    fixed={"connections": 1},
    quantile="p50",
    clients=("engine", "python/tornado", "python/websockets"),
    servers=("python/tornado", "python/websockets"),
    blocks=11,
    typical_ns=((49_000.0, 66_000.0), (120_000.0, 140_000.0), (180_000.0, 216_000.0)),
    parts=(
        PartFinding("client", 0.8, (0.7, 0.9), 1.6, 0.001, 0.003, True),
        PartFinding("server", 0.15, (0.1, 0.2), 1.2, 0.002, 0.004, True),
        PartFinding("interaction", 0.0, (0.0, 0.02), 1.0, 0.4, 0.4, False),
        PartFinding("residual", 0.05, (0.03, 0.07), 1.05, None, None, False),
    ),
    client_effects=(
        LevelEffect("python/websockets", 1.5, (1.4, 1.6)),
        LevelEffect("engine", 0.4, (0.3, 0.5)),
    ),
    server_effects=(LevelEffect("python/tornado", 0.9, (0.8, 1.0)),),
    own_pairs=(OWN,),
    left_out=("client node/ws: 2 of its cells have fewer than 6 blocks",),
    withheld=None,
)


def test_the_own_pairs_come_first_divided_between_server_and_client() -> None:
    own, parts, left_out = crossing_sentences(CROSSING)
    assert own == (
        "With its own client python/websockets takes 1.800 [1.700, 1.900] times as long as python/tornado "
        "with its own: 1.200 [1.150, 1.250] by the server, times 1.500 [1.450, 1.550] by the client. "
        "That the servers' ratio depends on who asks was not shown (ratio of ratios 1.010 [0.980, 1.040])."
    )
    assert parts == (
        "Of the variance of log latency within a block 80 % [70 %, 90 %] is the client's, 15 % [10 %, 20 %] "
        "the server's, 0 % [0 %, 2.0 %] that of particular pairings and 5.0 % [3.0 %, 7.0 %] chance between "
        "repeats. Not shown to be there at all: their pairing."
    )
    assert left_out == "Left out: client node/ws: 2 of its cells have fewer than 6 blocks."


def test_many_own_pairs_stand_in_a_table_instead() -> None:
    many = replace(CROSSING, own_pairs=(OWN, OWN, OWN))
    section = crossing_section(many)
    assert section.sentences[0].startswith("Of the variance")
    assert section.pairs is not None
    assert section.pairs.rows[0] == (
        "python/websockets / python/tornado",
        "1.800 [1.700, 1.900]",
        "1.200 [1.150, 1.250]",
        "1.500 [1.450, 1.550]",
        "1.010 [0.980, 1.040]",
    )
    assert crossing_section(CROSSING).pairs is None


def test_an_interaction_whose_interval_excludes_one_is_said() -> None:
    strong = replace(OWN, interaction=1.4, interaction_interval=(1.3, 1.5))
    own = crossing_sentences(replace(CROSSING, own_pairs=(strong,)))[0]
    assert (
        "The servers' ratio depends on who asks: it is 1.400 [1.300, 1.500] times as large under "
        "python/websockets's client as under python/tornado's." in own
    )


def test_what_is_withheld_shows_its_reason_and_no_split() -> None:
    bare = replace(
        CROSSING, parts=(), client_effects=(), server_effects=(), own_pairs=(), withheld="a reason"
    )
    section = crossing_section(bare)
    assert section.sentences[0] == "Nothing is split: a reason."
    assert section.tables == []
    assert [figure.name for figure in section.figures] == ["connections-1-p50-pairings"]


def test_the_pairings_and_the_parts_can_be_read_off_the_figures() -> None:
    pairings, parts = (static_svg(figure) for figure in crossing_figures(CROSSING))
    for words in ("216 µs", "49.0 µs", "python/websockets", "engine"):
        assert words in pairings
    for words in ("Client", "Server", "Their pairing", "Chance"):
        assert words in parts


@pytest.mark.parametrize("crossings", [0, 1])
def test_the_page_has_the_section_only_where_there_is_a_crossing(tmp_path: Path, crossings: int) -> None:
    run = RunDirectory(write_run(tmp_path / "run"))
    document = json.loads(run.findings.read_text(encoding="utf-8"))
    document["crossings"] = [to_json(CROSSING)] * crossings
    run.findings.write_text(json.dumps(document), encoding="utf-8")
    page = write_report(run).read_text(encoding="utf-8")
    assert page.count('<section id="crossings"') == crossings
    assert ("80 % [70 %, 90 %] is the client&#39;s" in page) == bool(crossings)
