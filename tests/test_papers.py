"""Published studies: every check comes out as known, and a planted number turns it round."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.errors import FeedbenchError
from feedbench.papers import Finding, Outcome, Paper, check_paper, read_paper
from feedbench.papers.page import make_page
from feedbench.papers.page_markdown import page_markdown
from feedbench.papers.page_text import page_text

PAPERS = Path(__file__).parents[1] / "papers"
STUDIES = ("grandhi", "ozmen", "papik", "salih", "tomasetti")


def study(name: str) -> Paper:
    return read_paper(PAPERS / f"{name}.toml")


def planted(tmp_path: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = (PAPERS / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{old} stands {text.count(old)} times in {name}.toml"
        text = text.replace(old, new)
    path = tmp_path / "planted.toml"
    path.write_text(text, encoding="utf-8")
    return path


def finding(name: str, claim: str) -> Finding:
    (found,) = [one for one in check_paper(study(name)) if claim in one.claim]
    return found


def broken_rows(findings: Sequence[Finding]) -> set[tuple[str, int, str]]:
    return {(one.table, one.row, one.check) for one in findings if one.row and one.outcome is Outcome.FAILS}


@pytest.mark.parametrize("name", STUDIES)
def test_every_check_of_every_study_comes_out_as_known(name: str) -> None:
    findings = check_paper(study(name))
    assert [one.claim for one in findings if one.surprising] == []
    assert all(one.meaning for one in findings if one.outcome is not Outcome.HOLDS)
    assert all(one.where for one in findings)


@pytest.mark.parametrize(
    ("name", "claim", "outcome", "numbers"),
    [
        ("papik", "as far apart as the stated duration", "fails", "4 August 2020 04:00 = 76 is not 100 h"),
        ("papik", "Bithumb: messages per second are the count over 100", "holds", "654 agrees with"),
        ("papik", "Gemini: messages per second are the count over the 76", "fails", "258 is not"),
        ("papik", "JavaScript's minimum", "fails", "maximum 135 lies beyond 125 + 1.5 × IQR = 132.5"),
        ("papik", "tables 11 and 12 follow", "holds", "36 of 36 cells are equal"),
        ("papik", "few events were lost", "undecided", "not printed"),
        ("salih", "is the payload on the wire", "fails", "35 characters + 2 characters = 37"),
        ("salih", "size in Python's memory", "holds", "73 bytes + 35 characters = 108"),
        ("ozmen", "the client's waits fit", "fails", "= 79.042 is more than 60.02"),
        ("ozmen", "gap between two messages", "fails", "= 11.67 is not 1,000 ÷ 112.847955998532 = 8.8615"),
        ("ozmen", "whole number of messages", "holds", "= 2,613 agrees with 2,613"),
        ("grandhi", "30-second campaign is half of a call", "holds", "23.55 agrees with"),
        ("grandhi", "2-minute campaign is half of a call", "holds", "÷ 2 = 25.778"),
        ("grandhi", "5-minute campaign is half of a call", "holds", "÷ 2 = 29.175"),
        ("grandhi", "30-second campaign is a whole call", "fails", "= 48.182"),
        ("grandhi", "all campaigns together", "fails", "= 79,445 is not just over 52,000"),
        ("grandhi", "5-minute campaign alone", "holds", "= 52,511 is just over 52,000"),
        ("grandhi", "Table IV repeats", "holds", "27 of 27 cells are equal"),
        ("tomasetti", "stated total", "fails", "are 50,500,000 requests, not 5,500,000"),
        ("tomasetti", "Little's law", "undecided", "not printed: the mean round trip of a round"),
    ],
)  # fmt: skip
def test_the_known_findings_stand_with_their_numbers(
    name: str, claim: str, outcome: str, numbers: str
) -> None:
    found = finding(name, claim)
    assert found.outcome == outcome
    assert numbers in found.numbers


def test_all_sixteen_rows_keep_littles_law_within_its_tolerance() -> None:
    rows = [one for one in check_paper(study("salih")) if one.row]
    assert len(rows) == 16 * 4
    assert {one.check for one in rows} == {"littles_law", "order", "counts", "per_client"}
    assert broken_rows(rows) == set()


def test_a_text_of_35_characters_is_108_bytes_in_memory_and_37_on_the_wire() -> None:
    text = "x" * 33 + "é" * 2
    assert len(text.encode()) == 37
    if sys.implementation.name == "cpython" and sys.version_info < (3, 12):  # its header shrank then
        assert sys.getsizeof(text) == 108


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        # Throughput × latency must be the clients; with 0.9 ms eight clients would have to be 9.2.
        ("[8, 101746, 0.79,", "[8, 101746, 0.90,", {("websockets", 4, "littles_law")}),
        ("[1, 29160, 0.34, 0.28, 4.87,", "[1, 29160, 0.34, 0.35, 4.87,", {("tornado", 1, "order")}),
        ("[64, 111486,", "[64, 121486,", {("websockets", 7, "counts")}),
        ("7515.00, 58.71]", "7515.00, 68.71]", {("tornado", 8, "per_client")}),
        ("[1, 32553,", "[0, 32553,", {("websockets", 1, "clients")}),
    ],
)
def test_a_planted_impossible_row_is_refused(
    tmp_path: Path, old: str, new: str, broken: set[tuple[str, int, str]]
) -> None:
    assert broken_rows(check_paper(read_paper(planted(tmp_path, "salih", (old, new))))) == broken


@pytest.mark.parametrize(
    ("name", "old", "new", "claims"),
    [
        ("papik", "[\"Median\", \"61 ↑\", 67, ", "[\"Median\", \"61 ↑\", 69, ", {"tables 11 and 12 follow"}),
        ("papik", "3.80, 2.47, 4.60", "3.80, 2.47, 4.70", {"tables 11 and 12", "Go, a compiled"}),
        ("papik", '"134 ↑", 137]', '134, 137]', {"the arrows stand"}),
        ("papik", "[\"Q1\", 83,", "[\"Q1\", 87,", {"ascends", "tables 11", "arrows", "whisker ends"}),
        ("papik", "206_982_664", "208_982_664", {"575 is not", "count over 100", "a sixth"}),
        ("papik", "2020-08-04T04:00:00", "2020-08-05T04:00:00", {"the dates are as far apart"}),
        ("ozmen", "112.847955998532]]", "82.847955998532]]", {"waits fit", "the gap", "client: websockets"}),
        ("ozmen", "43.50541640375675]", "43.51541640375675]", {"whole number", "are the server"}),
        ("grandhi", "0.193, 0.312, 0.756, 53.6]", "0.193, 0.312, 0.766, 53.6]", {"Table IV repeats"}),
        ("grandhi", '["REST", 440,', '["REST", 640,', {"of a call", "whole call", "REST: the", "together"}),
        ("grandhi", '"FIX 5m", 159.0', '"FIX 5m", 160.0', {"FIX: the 5-minute rate"}),
        ("grandhi", '["WS 5m", 11.2]', '["WS 5m", 5.2]', {"WS 5m: skewness", "every kurtosis"}),
        ("grandhi", '["WS", 991,', '["WS", 1991,', {"together", "alone", "WS: the 5-minute", "0.1 %"}),
        ("salih", "value = 108\n", "value = 37\n", {"payload on the wire", "size in Python's memory"}),
        ("tomasetti", "5500000]", "50500000]", {"stated total"}),
        ("tomasetti", "[[10000, 42]]", "[[10000, 62]]", {"Go takes over twice"}),
    ],
)  # fmt: skip
def test_an_altered_number_turns_its_checks_round(
    tmp_path: Path, name: str, old: str, new: str, claims: set[str]
) -> None:
    altered = check_paper(read_paper(planted(tmp_path, name, (old, new))))
    surprising = [f"{one.claim}: {one.numbers}" for one in altered if one.surprising]
    assert surprising
    unexplained = [text for text in surprising if not any(claim in text for claim in claims)]
    assert unexplained == []


def test_a_known_failure_that_fails_by_other_numbers_is_not_as_known(tmp_path: Path) -> None:
    path = planted(tmp_path, "tomasetti", ("5500000]", "5600000]"))
    (surprise,) = make_page(read_paper(path)).surprises
    assert surprise.outcome is Outcome.FAILS
    assert "not 5,600,000" in surprise.numbers


def test_a_number_that_is_found_later_decides_what_was_open(tmp_path: Path) -> None:
    path = planted(
        tmp_path,
        "papik",
        ('that not all six connectors had"\nunprinted = true', '…"\nvalue = 30_000_000'),
    )
    (surprise,) = make_page(read_paper(path)).surprises
    assert surprise.outcome is Outcome.FAILS
    assert "34,497,111 − 30,000,000 = 4,497,111 is more than" in surprise.numbers


def test_what_rounding_hides_is_not_decided(tmp_path: Path) -> None:
    """72.61 − 25.46 may have been 47.14 to 47.16 before rounding, so it is neither above nor below 47.15."""
    path = planted(tmp_path, "grandhi", ('value = 50\nunit = "ms"', 'value = 47.15\nunit = "ms"'))
    (found,) = [one for one in check_paper(read_paper(path)) if "can be wrong (5 minutes)" in one.claim]
    assert found.outcome is Outcome.UNDECIDED
    assert "= 47.15 can't be told from 47.15 ms" in found.numbers


def test_ramp_rows_have_a_last_round_among_theirs_and_shares_below_100(tmp_path: Path) -> None:
    path = planted(tmp_path, "tomasetti", ("[[100, 98]]", "[[100, 101]]"), ("100, 30]", "100, 130]"))
    checks = {check for _, _, check in broken_rows(check_paper(read_paper(path)))}
    assert checks == {"ramp_total", "last_round", "share"}


@pytest.mark.parametrize(
    ("name", "old", "new", "complaint"),
    [
        ("tomasetti", 'columns = ["clients", "request_min"]\nrows = [[10000, 42]]',
         'columns = ["clients", "reqest_min"]\nrows = [[10000, 42]]', 'did you mean "request_min"'),
        ("salih", "[2, 59665, 0.33,", "[2, 59665,", "row 2 of table"),
        ("salih", "schema = 1", "schema = 2", "schema is 2"),
        ("salih", "title =", "titel =", "'title' is missing"),
        ("salih", "[2, 59665,", "[2, true,", "a number instead of True"),
        ("salih", "[1, 32553,", "[[1, 32553,", "no TOML"),
        ("papik", '"134 ↑"', '"134 !"', "a number instead of '134 !'"),
        ("papik", '["Gemini", 1, 100]', '["Binance", 1, 100]', "have the same name"),
        ("papik", 'check = "marks"', 'check = "mark"', 'did you mean "marks"'),
        ("papik", 'scores = "table11"', 'score = "table11"', "lacks its scores"),
        ("papik", 'right = "outliers"', 'right = "outlier"', 'did you mean "outliers"'),
        ("papik", '"table10/Maximum/Java"\n', '"table10/Maximum/Jawa"\n', 'did you mean "Java"'),
        ("papik", '"table10/Maximum/Java"\n', '"table20/Maximum/Java"\n', 'there is no table "table20"'),
        ("papik", '{ hours = ["start", "end"] }', '{ hours = ["start", "duration"] }', "takes two dates"),
        ("papik", '{ hours = ["start", "end"] }', '"start"', "is a date"),
        ("papik", '{ hours = ["start", "end"] }', '{ weeks = ["start"] }', "is no arithmetic"),
        ("papik", 'shows = "3.80 is less than 4.60"\n', "", "expected to fail"),
        ("papik", 'value = 120\n', 'value = 120\nunprinted = true\n', "either the value or unprinted"),
        ("papik", '[["Final Score", 5.67', '[["Last Score", 5.67', 'there is no "Final Score"'),
        ("papik", '"C++", "Go", "Java", "PHP", "Python"]\nmeaning', '"C", "Go"]\nmeaning', 'such cell "C"'),
        ("papik", 'meaning = "No column', 'for_each = 8\nmeaning = "No column',
         "each five-number summary ascends” can't be read"),
        ("grandhi", "unit = 1000\nexpected", "unit = \"many\"\nexpected", "can't be read"),
        ("tomasetti", 'row = 1\n', 'row = 2\n', "no ramp_total is checked in row 2"),
        ("grandhi", 'of = { "30s"', 'of = { "31s"', '"of" lacks 30s'),
        ("grandhi", "tolerance = 0.01\nmeaning = \"14.8", "tolerense = 0.01\nmeaning = \"14.8", "tolerense"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_words(
    tmp_path: Path, name: str, old: str, new: str, complaint: str
) -> None:
    with pytest.raises(FeedbenchError, match=complaint):
        check_paper(read_paper(planted(tmp_path, name, (old, new))))


def test_the_command_is_green_for_all_and_ends_with_1_when_a_number_is_altered(tmp_path: Path) -> None:
    sound = CliRunner().invoke(app, ["paper", "all", "--check"])
    assert sound.exit_code == 0, sound.stdout
    assert [line.partition(":")[0] for line in sound.stdout.splitlines()] == list(STUDIES)
    assert sound.stdout.count("all as known") == 5
    path = planted(tmp_path, "salih", ("11530.20, 90.08", "21530.20, 168.20"))
    refused = CliRunner().invoke(app, ["paper", str(path), "--check"])
    assert refused.exit_code == 1
    assert "websockets, row 8: throughput × average latency" in refused.stdout


def test_tables_11_and_12_stand_beside_the_recomputed_ones() -> None:
    text = page_text(make_page(study("papik")))
    for score in ("5.67", "3.80", "2.47", "4.60", "3.27", "3.53"):
        assert f"{score} = {score}" in text
    assert "Places: 1 C++, 2 JavaScript, 3 Go, 4 Python, 5 PHP, 6 Java" in text


def test_a_recomputed_cell_that_differs_is_shown_as_different(tmp_path: Path) -> None:
    path = planted(tmp_path, "papik", ("3.80, 2.47, 4.60", "3.80, 2.74, 4.60"))
    assert "2.74 ≠ 2.47" in page_text(make_page(read_paper(path)))


def test_one_page_per_study_in_every_form() -> None:
    runner = CliRunner()
    text = runner.invoke(app, ["paper", "all"])
    assert text.exit_code == 0
    markdown = runner.invoke(app, ["paper", "all", "--markdown"]).stdout
    assert markdown.count("## Checks") == markdown.count("## Printed tables") == len(STUDIES)
    documents = json.loads(runner.invoke(app, ["paper", "all", "--json"]).stdout)
    assert [document["name"] for document in documents] == list(STUDIES)
    for name, document in zip(STUDIES, documents, strict=True):
        paper = study(name)
        assert paper.title in text.stdout
        assert f"# {paper.title}" in markdown
        assert document["as_known"]
        assert len(document["findings"]) == len(check_paper(paper))
    assert json.loads(runner.invoke(app, ["paper", "salih", "--json"]).stdout)["name"] == "salih"


def test_printed_digits_survive_in_every_form() -> None:
    page = make_page(study("ozmen"))
    for form in (page_text(page), page_markdown(page)):
        assert "0.011669926174429393" in form
        assert "0.00007553019766080178" in form


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["paper", "papic"], 'did you mean "papik"'),
        (["paper", "nowhere.toml"], "cannot read it"),
    ],
)
def test_an_unknown_study_is_refused_in_words(arguments: list[str], complaint: str) -> None:
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 1
    assert complaint in str(refused.exception)


def test_two_forms_at_once_are_refused() -> None:
    assert CliRunner().invoke(app, ["paper", "salih", "--json", "--check"]).exit_code == 2
