"""The page: its words against a golden file, and nothing from the run that could run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from report_sample import PLANTED, findings, write_run

from feedbench.paths import RunDirectory
from feedbench.report import write_report
from feedbench.report.html import content_policy
from feedbench.report.page import embedded_json

UPDATE = "FEEDBENCH_UPDATE_GOLDEN"  # set it to 1 to accept what the page says now


def normalised(html: str) -> str:
    """The page without what other tests look at: drawings, scripts, style, hashes, version."""
    html = re.sub(r"<svg.*?</svg>", "<svg/>", html, flags=re.S)
    html = re.sub(r'<script type="application/json">.*?</script>', '<script type="application/json"/>', html)
    html = re.sub(r"<(script|style)>.*?</\1>", r"<\1/>", html, flags=re.S)
    html = re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-…", html)
    return re.sub(r"Made by feedbench \S+", "Made by feedbench …", html)


def test_the_page_says_what_it_said(reported: RunDirectory, golden_folder: Path) -> None:
    said = normalised(reported.report.read_text(encoding="utf-8"))
    golden = golden_folder / "report.html"
    if os.environ.get(UPDATE):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said, encoding="utf-8")
    assert said == golden.read_text(encoding="utf-8"), f"set {UPDATE}=1 if the new page is meant"


def test_the_page_is_of_reasonable_size(reported: RunDirectory) -> None:
    assert reported.report.stat().st_size < 3_000_000


class Elements(HTMLParser):
    """Every element with its attributes, as a browser's parser would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


def _elements(html: str) -> Elements:
    parser = Elements()
    parser.feed(html)
    return parser


def test_nothing_on_the_page_has_an_address_elsewhere(reported: RunDirectory) -> None:
    for tag, attributes in _elements(reported.report.read_text(encoding="utf-8")).seen:
        for name in ("src", "href", "action", "data", "xlink:href", "srcset"):
            value = attributes.get(name)
            assert value is None or re.match(r"#|tables/|data:", value), (tag, name, value)


def test_every_table_has_a_caption_and_every_chart_a_description(reported: RunDirectory) -> None:
    html = reported.report.read_text(encoding="utf-8")
    seen = _elements(html).seen
    tags = [tag for tag, _ in seen]
    assert tags.count("table") == tags.count("caption") > 3
    charts = [attributes for _, attributes in seen if attributes.get("class") == "chart"]
    assert charts
    assert all(chart.get("role") == "img" and chart.get("aria-label") for chart in charts)


def test_ids_are_unique_and_every_link_inside_the_page_arrives(reported: RunDirectory) -> None:
    seen = _elements(
        re.sub(r"<svg.*?</svg>", "", reported.report.read_text(encoding="utf-8"), flags=re.S)
    ).seen
    ids = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] or "" for tag, attributes in seen if tag == "a"]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_nothing_from_the_run_becomes_an_element(hostile: RunDirectory, reported: RunDirectory) -> None:
    parsed = _elements(hostile.report.read_text(encoding="utf-8"))
    expected = _elements(reported.report.read_text(encoding="utf-8"))
    own = {script for script in expected.scripts if not script.startswith("{")}
    assert {script for script in parsed.scripts if not script.startswith("{")} == own
    assert not any(name.startswith("on") for _, attributes in parsed.seen for name in attributes)
    assert not any(tag in {"img", "iframe", "object"} for tag, _ in parsed.seen)


def test_the_planted_text_is_shown_as_text(hostile: RunDirectory) -> None:
    assert "&lt;/script&gt;&lt;script&gt;" in hostile.report.read_text(encoding="utf-8")


def test_a_page_without_escaping_would_be_caught() -> None:
    assert any("onerror" in attributes for _, attributes in _elements(f"<p>{PLANTED}</p>").seen)


def test_embedded_json_cannot_close_its_element_and_stays_the_same_value() -> None:
    text = embedded_json({"name": PLANTED + "\u2028<!--"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"name": PLANTED + "\u2028<!--"}


def test_the_policy_names_exactly_the_scripts_of_the_page(reported: RunDirectory) -> None:
    html = reported.report.read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.S)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    policy = content_policy(*scripts)
    assert len(scripts) == 2
    assert all(f"'sha256-{digest}'" in policy for digest in digests)
    assert all(digest in html for digest in digests)
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy


def _run_with(tmp_path: Path, **changes: Any) -> str:
    run = RunDirectory(write_run(tmp_path / "run", findings() | changes))
    for path in (run.host, run.plan, run.scenario):
        path.unlink()
    write_report(run)
    return run.report.read_text(encoding="utf-8")


def test_a_run_in_which_nothing_could_be_compared_still_has_a_page(tmp_path: Path) -> None:
    html = _run_with(tmp_path, questions=[], cells=[], complete=False)
    assert "Nothing could be compared" in html
    assert "No facts about the machine were recorded" in html


def test_failed_cells_are_shown_with_their_causes(tmp_path: Path) -> None:
    cells = findings()["cells"]
    empty = {"count": 0, "min": None, "mean": None, "p50": None, "max": None}
    cells[4].update(
        verdicts={"ok": 2, "failed": 9}, causes=["the server ended with status 3"], latency_ns=empty,
        round_trips_per_s={"value": None, "interval": None}, percentile_curve=[], per_block=[],
        cpu_ns_per_message={"value": None, "interval": None}, ceiling_share=None,
    )  # fmt: skip
    html = _run_with(tmp_path, cells=cells[3:6], questions=[])
    assert "the server ended with status 3" in html
    assert "ok 2, failed 9" in html


def test_impossible_numbers_are_called_refused(tmp_path: Path) -> None:
    refused = {"cell": "c-floor+connections=1", "check": "littles_law", "text": "30 clients can't be 12."}
    html = _run_with(tmp_path, impossible=[refused], questions=[], cells=[])
    assert "Refused: numbers that can’t be" in html
    assert "30 clients can&#39;t be 12." in html


def test_papiks_pages_are_linked_where_there_are_any(tmp_path: Path) -> None:
    run = RunDirectory(write_run(tmp_path / "run"))
    assert "study.html" not in write_report(run).read_text(encoding="utf-8")
    for folder in ("sink=none", "sink=stamps"):
        (run.path / "pipeline" / folder).mkdir(parents=True)
        (run.path / "pipeline" / folder / "study.html").touch()
    html = write_report(run).read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"]*study\.html)">', html)
    assert links == ["pipeline/sink%3Dnone/study.html", "pipeline/sink%3Dstamps/study.html"]
