"""Where keys stand: in a text with each of TOML's ways to say things, and in every file of the house."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from feedbench.toml_lines import KeyPath, line_of, locate

TEXT = '''\
# a comment with [brackets] = "and quotes
a = 1
b.c = """
[not.a.table]
d = 2
""" # after
"e f" = 'x # no comment = y'

[table]
list = [  # a comment, with a comma
  "one", "two",
  { three = 3 }, # [
  [4,
   5],
]
inline = { key = "[", more = [1, 2] }
[table.'sub table'] # comment
g = \'\'\'
[[no]]\'\'\'
[[entry]]
h = 1
[[entry]]
h = 2
[entry.deeper]
i = "\\"] #"
j = 5
'''

WHERE: list[tuple[KeyPath, int]] = [
    (("a",), 2),
    (("b", "c"), 3),
    (("e f",), 7),
    (("table",), 9),
    (("table", "list"), 10),
    (("table", "list", 0), 11),
    (("table", "list", 1), 11),
    (("table", "list", 2), 12),
    (("table", "list", 3), 13),
    (("table", "inline"), 16),
    (("table", "sub table"), 17),
    (("table", "sub table", "g"), 18),
    (("entry", 0), 20),
    (("entry", 0, "h"), 21),
    (("entry", 1, "h"), 23),
    (("entry", 1, "deeper"), 24),
    (("entry", 1, "deeper", "i"), 25),
    (("entry", 1, "deeper", "j"), 26),
]


@pytest.mark.parametrize(("path", "line"), WHERE)
def test_each_key_is_found_on_its_line(path: KeyPath, line: int) -> None:
    tomllib.loads(TEXT)
    assert locate(TEXT)[path] == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("table", "inline", "key"), 16),
        (("table", "list", 2, "three"), 12),
        (("entry", 1, "absent"), 22),
        (("absent",), 1),
        ((), 1),
    ],
)
def test_what_has_no_line_of_its_own_has_that_of_what_holds_it(path: KeyPath, line: int) -> None:
    assert line_of(path, locate(TEXT)) == line


ROOT = Path(__file__).parents[1]
FILES = [
    *ROOT.glob("targets/*/*/target.toml"),
    *ROOT.glob("scenarios/**/*.toml"),
    *ROOT.glob("conformance/*/*.toml"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_in_real_files_every_key_has_a_line_that_names_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lines = locate(text)
    for key, value in tomllib.loads(text).items():
        assert key in text.splitlines()[lines[(key,)] - 1]
        for inner in value if isinstance(value, dict) else ():
            assert inner in text.splitlines()[lines[(key, inner)] - 1]
