"""A new target: the neighbour with the least to read is copied, renamed, and its other mentions told."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedbench.errors import FeedbenchError
from feedbench.new_target import create, nearest_neighbour
from feedbench.registry import discover
from test_build import make_project


def test_the_smallest_of_the_same_language_is_nearest_else_the_smallest_of_all(tmp_path: Path) -> None:
    project = make_project(tmp_path, "go/long", "go/short", "c/tiny", "_fake/none")
    (project.targets / "go/long/main.go").write_text("x" * 1000)
    (project.targets / "go/short/main.go").write_text("x" * 100)
    registry = discover(project)
    assert nearest_neighbour("go/new", registry).name == "go/short"
    assert nearest_neighbour("zig/new", registry).name == "c/tiny"


def test_the_copy_has_its_own_name_and_the_rest_is_pointed_at(tmp_path: Path) -> None:
    project = make_project(tmp_path, "sh/old")
    folder = project.targets / "sh/old"
    (folder / "README.md").write_text("# old\n")
    (folder / "server.sh").write_text("import old\nbold\nold.serve()\n")
    (folder / "expected.json").write_text("{}")
    (folder / "node_modules").mkdir()
    made = create("sh/new", discover(project), project=project)
    assert made.copied_from == "sh/old"
    assert sorted(file.name for file in made.folder.iterdir()) == ["README.md", "server.sh", "target.toml"]
    assert 'name = "sh/new"' in (made.folder / "target.toml").read_text()
    places = [(mention.file.name, mention.line) for mention in made.mentions]
    assert places == [("server.sh", 1), ("server.sh", 3), ("README.md", 1)]
    assert discover(project).get("sh/new").name == "sh/new"


@pytest.mark.parametrize("name", ["go", "go/", "Go/x", "go/x/y", "../x", "go/..", "_fake/x"])
def test_a_bad_name_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path, "sh/old")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FeedbenchError, match="no name for a target"):
        create(name, discover(project), project=project)
    assert sorted(tmp_path.rglob("*")) == before
