"""Published tables: the study's own pass, planted impossible ones are refused, and the command says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.errors import FeedbenchError
from feedbench.papers import check_paper, read_paper

SALIH = Path(__file__).parents[1] / "papers" / "salih.toml"


def planted(tmp_path: Path, old: str, new: str) -> Path:
    text = SALIH.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "planted.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_all_sixteen_rows_pass_all_checks() -> None:
    verdicts = check_paper(read_paper(SALIH))
    assert [verdict for verdict in verdicts if verdict.broken] == []
    assert len(verdicts) == 16 * 4
    assert {verdict.check for verdict in verdicts} == {"littles_law", "order", "counts", "per_client"}


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        # Throughput × latency must be the clients; with 0.9 ms eight clients would have to be 9.2.
        ("[8, 101746, 0.79,", "[8, 101746, 0.90,", {("websockets", 4, "littles_law")}),
        ("[1, 29160, 0.34, 0.28, 4.87,", "[1, 29160, 0.34, 0.35, 4.87,", {("tornado", 1, "order")}),
        ("[64, 111486,", "[64, 121486,", {("websockets", 7, "counts")}),
        ("7515.00, 58.71]", "7515.00, 68.71]", {("tornado", 8, "per_client")}),
    ],
)
def test_a_planted_impossible_number_is_refused(
    tmp_path: Path, old: str, new: str, broken: set[tuple[str, int, str]]
) -> None:
    verdicts = check_paper(read_paper(planted(tmp_path, old, new)))
    assert {(verdict.table, verdict.row, verdict.check) for verdict in verdicts if verdict.broken} == broken


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"average_ms"', '"averge_ms"', 'did you mean "average_ms"'),
        ("[2, 59665, 0.33,", "[2, 59665,", "row 2 of table"),
        ("schema = 1", "schema = 2", "schema is 2"),
        ("title =", "titel =", "'title' is missing"),
        ("[2, 59665,", "[2, true,", "a number instead of True"),
        ("rows = [", "rows = [[", "no TOML"),
    ],
)
def test_bad_files_are_refused_in_words(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(FeedbenchError, match=complaint):
        read_paper(planted(tmp_path, old, new))


def test_the_command_ends_with_1_when_a_table_is_impossible(tmp_path: Path) -> None:
    path = planted(tmp_path, "11530.20, 90.08", "21530.20, 168.20")
    sound = CliRunner().invoke(app, ["paper", "salih"])
    assert sound.exit_code == 0
    assert "32 of 32 checks pass" in sound.stdout
    refused = CliRunner().invoke(app, ["paper", "--check", str(path)])
    assert refused.exit_code == 1
    assert "refused: row 8, littles_law" in refused.stdout
