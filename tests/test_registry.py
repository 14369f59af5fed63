"""The registry: manifests found, checked and filtered; what this machine lacks is said with its remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from feedbench.errors import FeedbenchError, ManifestError
from feedbench.paths import Project
from feedbench.registry import (
    Need,
    State,
    discover,
    missing_need,
    receipt_path,
    remembering,
    target_state,
    tool_version,
    version_key,
)
from feedbench.target import read_target
from planning import BUILT, make_registry, make_target, usual_registry

MANIFEST = """\
schema = 1
name = "go/one"
language = "Go"
library = "one"
roles = ["server"]
speaks = ["ws"]
models = ["echo"]

[[needs]]
tool = "go"
minimum = "1.22"
hint = "Debian: apt-get install golang"

[build]
commands = [["go", "build"]]

[version]
command = ["echo", "1"]

[toolchain]
command = ["go", "version"]

[run.server]
command = ["{build}/one", "{port}"]

[knobs]
delay_ns = ["0", "*"]
mode = ["", "*"]
deflate = ["off", "on"]
"""


def project_with(folder: Path, manifests: dict[str, str]) -> Project:
    for name, text in manifests.items():
        (folder / "targets" / name).mkdir(parents=True)
        (folder / "targets" / name / "target.toml").write_text(text, encoding="utf-8")
    return Project(folder)


def test_a_manifest_is_read_with_its_defaults(tmp_path: Path) -> None:
    registry = discover(project_with(tmp_path, {"go/one": MANIFEST}), probe=lambda need: None)
    target = registry.get("go/one")
    assert (target.id, target.tuned, target.mode, target.on_hold) == ("go-one", False, "release", False)
    assert target.needs == (Need("go", "1.22", "Debian: apt-get install golang"),)
    assert target.server_command == ("{build}/one", "{port}")
    assert target.echo_client_command is None
    assert registry.states["go/one"] == State("available", None, None)


@pytest.mark.parametrize(
    ("knob", "value", "taken"),
    [
        ("delay_ns", "5000", True),
        ("delay_ns", "5us", False),
        ("mode", "any text", True),
        ("deflate", "on", True),
        ("deflate", "5", False),
        ("colour", "red", False),
    ],
)
def test_a_knob_takes_its_values_and_a_star_takes_numbers_or_texts_like_its_default(
    tmp_path: Path, knob: str, value: str, taken: bool
) -> None:
    target = discover(project_with(tmp_path, {"go/one": MANIFEST}), probe=lambda need: None).get("go/one")
    assert target.takes(knob, value) is taken


BAD = [
    ("another name than the folder's", 'name = "go/one"', 'name = "go/two"', 2, 'write "go/one"'),
    ("an unknown role", '["server"]', '["peer"]', 5, "not one of"),
    ("an unknown key", "minimum =", "minimun =", 11, 'did you mean "minimum"?'),
    ("a version that is a number", '"1.22"', "1.22", 11, "not a version in quotes"),
    ("a command as one text", '[["go", "build"]]', '["go build"]', 15, "command"),
    ("no way to start", '[run.server]\ncommand = ["{build}/one", "{port}"]', "[run]", 5, "[run.server]"),
    ("on hold without a reason", 'language = "Go"', 'language = "Go"\nstatus = "on-hold"', 4, "reason"),
    ("a lock that is not there", "[build]", '[build]\nlock = "go.sum"', 15, "commit it"),
    ("a knob that begins with a star", '["0", "*"]', '["*"]', 27, "begin with the default"),
    ("a knob's value twice", '["off", "on"]', '["off", "off"]', 29, "name each once"),
    ("a knob in capitals", "deflate =", "DEFLATE =", 26, "small letters"),
]


@pytest.mark.parametrize(
    ("old", "new", "line", "told"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_a_bad_manifest_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    assert old in MANIFEST
    project = project_with(tmp_path, {"go/one": MANIFEST.replace(old, new)})
    with pytest.raises(ManifestError, match=re.escape(f"go/one/target.toml:{line}: ")) as refused:
        read_target(project.targets / "go/one", root=project.targets)
    assert told in str(refused.value)


def test_a_missing_tool_outweighs_a_receipt_and_says_what_would_bring_it_in(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"go/one": MANIFEST})
    target = discover(project, probe=lambda need: f"{need.tool} is not there").get("go/one")
    state = target_state(target, receipt=None, probe=lambda need: f"{need.tool} is not there ({need.hint})")
    assert state == State("missing", "go is not there (Debian: apt-get install golang)", None)


def test_a_receipt_cut_short_counts_as_none(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"go/one": MANIFEST})
    receipt_path(project, "go/one").parent.mkdir(parents=True)
    receipt_path(project, "go/one").write_text('{"schema": 1, "sta', encoding="utf-8")
    assert discover(project, probe=lambda need: None).states["go/one"].state == "available"


def program(folder: Path, script: str) -> Path:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo v20.11.1", "20.11.1"),
        ("echo 'openjdk version \"17.0.12\" 2024-07-16' >&2", "17.0.12"),
        ('[ "$1" = version ] && echo go version go1.26.8 linux/amd64', "1.26.8"),
        ('[ "$1" = -version ] && echo 8', "8"),
        ("echo no number", None),
        ("exit 3", None),
    ],
    ids=["node", "java, on stderr", "go", "an old javac", "silent about it", "broken"],
)
def test_tools_tell_their_version_each_in_its_way(tmp_path: Path, script: str, version: str | None) -> None:
    assert tool_version(str(program(tmp_path, script))) == version


@pytest.mark.parametrize(
    ("minimum", "lack"),
    [
        (None, None),
        ("9", None),
        ("10.2", None),
        ("10.2.0", None),
        ("10.10", "tool is 10.2; 10.10 or newer is wanted (install it)"),
    ],
)
def test_versions_are_compared_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minimum: str | None, lack: str | None
) -> None:
    program(tmp_path, "echo tool 10.2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert missing_need(Need("tool", minimum, "install it")) == lack


def test_a_tool_that_is_nowhere_is_missing_with_its_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (
        missing_need(Need("tool", None, "apt-get install tool"))
        == "tool is not on PATH (apt-get install tool)"
    )


def test_trailing_zeros_do_not_count() -> None:
    assert (
        version_key("18")
        == version_key("18.0.0")
        < version_key("18.0.1")
        < version_key("18.10")
        < version_key("19")
    )


def test_each_need_is_asked_for_once() -> None:
    asked: list[Need] = []
    probe = remembering(lambda need: asked.append(need))  # type: ignore[func-returns-value]
    need = Need("go", "1.22", "hint")
    assert (probe(need), probe(need), len(asked)) == (None, None, 1)


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ([], ["c/floor", "node/ws", "python/tornado", "python/websockets", "rust/plain"]),
        (["python"], ["python/tornado", "python/websockets"]),
        (["*/ws"], ["node/ws"]),
        (["rust", "c/floor", "c/*"], ["c/floor", "rust/plain"]),
        (["_fake"], ["_fake/echo"]),
        (["_fake/echo", "node/ws"], ["_fake/echo", "node/ws"]),
    ],
)
def test_filters_are_names_languages_and_globs(filters: list[str], names: list[str]) -> None:
    assert [target.name for target in usual_registry().select(filters)] == names


def test_a_filter_that_matches_nothing_is_a_mistake() -> None:
    with pytest.raises(FeedbenchError, match=r'no target matches "pyton".*did you mean "python"'):
        usual_registry().select(["node", "pyton"])


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    registry = make_registry(make_target("node/ws"), states={"node/ws": BUILT})
    with pytest.raises(FeedbenchError, match='did you mean "node/ws"'):
        registry.get("node/wss")
