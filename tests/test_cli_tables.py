"""Tables on stdout: whole where nobody looks, so that programs find what they look for."""

from __future__ import annotations

import pytest

from feedbench.cli.common import print_table


def test_no_column_but_the_last_is_cut_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    names = [f"column-{index}-that-is-wide" for index in range(5)]
    print_table(names, [[f"value-{index}-of-the-row" for index in range(5)]])
    said = capsys.readouterr().out
    assert all(name in said for name in names[:-1])
    assert all(f"value-{index}-of-the-row" in said for index in range(4))


def test_the_last_column_wraps_in_the_width_that_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table(("name", "notes"), [("one", "many words " * 20)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40
