"""The cases of the house: readable, with ids that last; and what a bad one is refused for."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.verify.case import read_cases

PROJECT = Project.find(Path(__file__).parent)

GOOD = """\
[[case]]
id = "echo.one"
description = "One."
rfc = "5.6"
steps = [
  { send = "text", text = "x" },
  { receive = "echo" },
]
"""


def test_the_cases_of_the_house_cover_the_groups_that_the_measurements_rely_on() -> None:
    cases = read_cases(PROJECT.root / "conformance" / "ws")
    ids = [case.id for case in cases]
    assert len(set(ids)) == len(ids)
    groups = {name.split(".")[0] for name in ids}
    assert groups >= {
        "echo",
        "fragment",
        "control",
        "close",
        "utf8",
        "handshake",
        "stamp",
        "burst",
        "process",
    }
    assert {f"echo.text.{size}" for size in (0, 1, 125, 126, 65535, 65536)} <= set(ids)


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('receive = "echo"', 'recieve = "echo"', 7, 'did you mean "receive"'),
        ('send = "text"', 'send = "words"', 6, "not a kind of frame"),
        ('text = "x"', 'hex = "0"', 6, "not bytes in hexadecimal"),
        ('rfc = "5.6"\n', "", 1, '"rfc" is missing'),
        ('{ receive = "echo" }', '{ receive = "echo", send = "text" }', 5, "a step says"),
        ('id = "echo.one"', 'id = "echo"', 2, "words joined by dots"),
    ],
)
def test_a_bad_case_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    (tmp_path / "bad.toml").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(FeedbenchError) as refused:
        read_cases(tmp_path)
    assert refused.value.where == f"{tmp_path / 'bad.toml'}:{line}"
    assert told in str(refused.value)


def test_an_id_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b.toml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(FeedbenchError, match=r"b\.toml:2: the id \"echo.one\" stands twice"):
        read_cases(tmp_path)


def test_an_empty_folder_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(FeedbenchError, match="no conformance cases"):
        read_cases(tmp_path)
