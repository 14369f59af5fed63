"""Every figure is a valid specification that draws its marks, and is written as SVG and PNG."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_sample import findings

from feedbench.paths import RunDirectory
from feedbench.report import theme
from feedbench.report.content import Content, arranged, content
from feedbench.report.figures.figure import Figure, slug
from feedbench.report.reading import Findings, typed
from feedbench.report.render import adaptive_svg, static_svg

Change = Callable[[dict[str, Any]], Any]


def _content(change: Change = lambda document: None) -> Content:
    document = findings()
    change(document)
    return content(typed(Findings, document, ""), scenario={}, plan={}, host={}, files=[])


FIGURES = {figure.name: figure for figure in _content().figures}


def _colours(text: str) -> set[str]:
    return {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", text)}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_marks_in_colours_that_dark_mode_knows(name: str) -> None:
    svg = static_svg(FIGURES[name])
    assert svg.count("<path") > 3
    assert "NaN" not in svg
    assert "undefined" not in svg
    assert _colours(svg) <= set(theme.DARK), "a colour without a dark counterpart"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_in_words_what_it_shows(name: str) -> None:
    assert len(FIGURES[name].description) > 40


def test_the_whole_sample_has_every_family_of_figures() -> None:
    expected = {
        "ranking-p50",
        "ranking-p99",
        "decisions-p50",
        "decisions-p99",
        "percentiles",
        "cumulative",
        "blocks",
    }
    run_wide = {
        "clients-latency",
        "clients-throughput",
        "clients-throughput-per-client",
        "cpu-per-message",
        "memory-per-connection",
        "ceiling-share",
    }
    assert set(FIGURES) == {f"connections-{n}-{kind}" for n in (1, 32) for kind in expected} | run_wide


def test_light_and_dark_colours_are_each_used_once() -> None:
    assert len(set(theme.DARK.values())) == len(theme.DARK)
    assert not set(theme.DARK) & set(theme.DARK.values()), "repainting would not be one step"


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2.2: 4.5 for text, 3 for what must be seen."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", [theme.INK, theme.MUTED])
def test_text_has_the_contrast_of_wcag_aa(colour: str) -> None:
    assert _contrast(colour, theme.PAPER) >= 4.5
    assert _contrast(theme.DARK[colour], theme.DARK[theme.PAPER]) >= 4.5


@pytest.mark.parametrize("box", [theme.FASTER, theme.SLOWER, theme.EQUIVALENT, theme.UNDECIDED])
def test_text_in_the_matrix_has_the_contrast_of_wcag_aa(box: str) -> None:
    assert _contrast(theme.INK, box) >= 4.5
    assert _contrast(theme.DARK[theme.INK], theme.DARK[box]) >= 4.5


@pytest.mark.parametrize("colour", theme.SERIES)
def test_a_series_can_be_seen_on_paper_and_in_the_dark(colour: str) -> None:
    assert _contrast(colour, theme.PAPER) >= 2.7
    assert _contrast(theme.DARK[colour], theme.DARK[theme.PAPER]) >= 4.5


def test_every_figure_stands_as_svg_and_png(reported: RunDirectory) -> None:
    for name in FIGURES:
        assert (reported.figures / f"{name}.svg").read_text().startswith("<svg")
        assert (reported.figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_file_repaints_itself_in_the_dark(reported: RunDirectory) -> None:
    picture = (reported.figures / "ranking.svg").read_text()
    assert "prefers-color-scheme:dark" in picture
    assert "Which WebSocket server answers first?" in picture


def test_an_adaptive_svg_has_its_own_background() -> None:
    assert f'fill="{theme.PAPER}"' in adaptive_svg("<svg width='1'><path/></svg>")


def _drop(*names: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        for cell in document["cells"]:
            for name in names:
                cell[name] = [] if name in ("percentile_curve", "per_block") else None

    return change


def _one_block(document: dict[str, Any]) -> None:
    for cell in document["cells"]:
        cell["per_block"] = cell["per_block"][:1]


def _no_p99(document: dict[str, Any]) -> None:
    for question in document["questions"]:
        for entry in question["ranking"]:
            entry["estimates"]["p99"] = {"value_ns": None, "interval_ns": None}


def _no_ranking(document: dict[str, Any]) -> None:
    for question in document["questions"]:
        question.update(ranking=[], ranking_withheld="the sentinel failed")


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (_drop("percentile_curve"), {"percentiles", "cumulative"}),
        (_drop("per_block"), {"blocks"}),
        (_one_block, {"blocks"}),
        (_no_p99, {"ranking-p99"}),
        (_no_ranking, {"ranking-p50", "ranking-p99"}),
        (_drop("cpu_ns_per_message"), {"cpu-per-message"}),
        (_drop("memory_per_connection_bytes"), {"memory-per-connection"}),
        (_drop("ceiling_share"), {"ceiling-share"}),
        (_drop("round_trips_per_s"), {"clients-throughput", "clients-throughput-per-client"}),
    ],
)
def test_what_was_not_measured_is_not_drawn(change: Change, missing: set[str]) -> None:
    names = {re.sub(r"^connections-\d+-", "", figure.name) for figure in _content(change).figures}
    assert {re.sub(r"^connections-\d+-", "", name) for name in FIGURES} - names == missing


def _undecidable(document: dict[str, Any]) -> None:
    for decision in document["questions"][0]["decisions"]:
        decision.update(decision="undecided", ratio=None, interval=None, p_holm=1.0, cliffs_delta=None)


def test_a_matrix_of_pairs_without_a_ratio_is_drawn_undecided() -> None:
    figures = {figure.name: figure for figure in _content(_undecidable).figures}
    svg = static_svg(figures["connections-1-decisions-p50"])
    assert svg.count(">?</text>") == 56


def _factor(document: dict[str, Any]) -> None:
    """Two questions that compare logging on with logging off, each within one target."""
    template, cells = document["questions"][0], []
    document["questions"] = []
    for target in ("python/tornado", "python/websockets"):
        identity = target.replace("/", "-")
        names = [f"{identity}~log_messages={value}+all" for value in ("true", "false")]
        own = next(cell for cell in document["cells"] if cell["target"] == target)
        cells += [
            own | {"cell": name, "factors": {"log_messages": name.split("=")[1][:-4]}} for name in names
        ]
        decision = template["decisions"][0] | {
            "pair": ["log_messages=true", "log_messages=false"],
            "cells": names,
            "ratio": 1.31,
            "interval": [1.28, 1.34],
        }
        document["questions"].append(
            template
            | {"id": f"target={target}", "compare": "log_messages", "fixed": {"target": target}}
            | {"decisions": [decision]}
            | {"ranking": [template["ranking"][0] | {"label": "log_messages=true", "cell": names[0]}]}
        )
    document["cells"] = cells


def test_a_compared_factor_is_drawn_pair_by_pair() -> None:
    page = _content(_factor)
    assert [figure.name for figure in page.paired] == ["paired-p50"]
    svg = static_svg(page.paired[0])
    assert "python/tornado" in svg
    assert "true / false" in svg
    assert "target-python-tornado-percentiles" in {figure.name for figure in page.figures}
    assert page.answers[0].text.startswith("With log messages true the p50 is 1.310")


def _many_questions(number: int) -> Change:
    def change(document: dict[str, Any]) -> None:
        template = document["questions"][0]
        document["questions"] = [template | {"id": f"payload={size}"} for size in range(number)]

    return change


@pytest.mark.parametrize(("number", "figures_each"), [(6, 7), (7, 2), (16, 2), (17, 0)])
def test_many_questions_get_fewer_figures_each(number: int, figures_each: int) -> None:
    sections = _content(_many_questions(number)).questions
    drawn = len(sections[-1].ranking) + len(sections[-1].more)
    assert (len(sections), drawn) == (number, figures_each)
    assert all(section.tables for section in sections)


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("connections=1", "connections-1"),
        ("payload=text:37,client=own", "payload-text-37-client-own"),
        ("payload=file:../secret/x.bin", "payload-file-..-secret-x.bin"),
        ("///", "all"),
    ],
)
def test_a_file_name_cannot_leave_its_folder(identity: str, name: str) -> None:
    assert slug(identity) == name
    assert Path(slug(identity)).name == slug(identity)


def _figure(*, wide: bool) -> Figure:
    return Figure(
        name="x", title="", description="", chart=FIGURES["ceiling-share"].chart, height=1, wide=wide
    )


@pytest.mark.parametrize(
    ("given", "placed", "why"),
    [
        ([False, False], [False, False], "two narrow ones share a row"),
        ([False], [True], "one alone takes the column"),
        ([False, True, False, False], [True, True, False, False], "a wide one ends the row before it"),
        ([False, False, False], [False, False, True], "the third is alone"),
    ],
)
def test_figures_leave_no_hole(given: list[bool], placed: list[bool], why: str) -> None:
    assert [figure.wide for figure in arranged([_figure(wide=wide) for wide in given])] == placed, why


def test_specifications_are_json_without_what_json_lacks() -> None:
    for figure in FIGURES.values():
        json.dumps(figure.specification(width="container"), allow_nan=False)
