"""The registry: manifests found, checked and filtered; what this machine lacks is said with its remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedbench.cli import app
from feedbench.errors import FeedbenchError, ManifestError
from feedbench.paths import Project
from feedbench.registry import State, discover, receipt_path, target_state
from feedbench.target import Need, read_target
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
    assert target.needs == (Need("tool", "go", "1.22", "Debian: apt-get install golang"),)
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
    (
        "a source that is not there",
        "[build]",
        '[build]\nsources = ["../../../crates/wire"]',
        15,
        "as seen from the target's folder",
    ),
    ("a lock that is not there", "[build]", '[build]\nlock = "go.sum"', 15, "commit it"),
    ("a knob that begins with a star", '["0", "*"]', '["*"]', 27, "begin with the default"),
    ("a knob's value twice", '["off", "on"]', '["off", "off"]', 29, "name each once"),
    ("a need of two kinds", 'tool = "go"', 'tool = "go"\nlibrary = "go"', 9, "not tool and library"),
    ("a need of no kind", 'tool = "go"\n', "", 9, "not none"),
    ("a need that nothing brings in", 'hint = "Debian: apt-get install golang"', "", 9, "add debian"),
    ("a header with a version", 'tool = "go"', 'header = "go.h"', 11, "a header tells no version"),
    ("a package with an address", "minimum =", 'debian = ["https://x"]\nminimum =', 11, "a package's name"),
    (
        "a debug build that nobody can choose",
        "[version]",
        "[build.debug]\ncommands = []\n[version]",
        17,
        "build_mode",
    ),
    (
        "a mode without its build",
        "deflate =",
        'build_mode = ["release", "debug"]\ndeflate =',
        29,
        "[build.debug]",
    ),
    ("shared products that run", "{build}/one", "{shared}/one", 24, "into {build}"),
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
    target = discover(project, probe=lambda need: f"{need.name} is not there").get("go/one")
    state = target_state(target, receipt=None, probe=lambda need: f"{need.name} is not there ({need.hint})")
    assert state == State("missing", "go is not there (Debian: apt-get install golang)", None)


def test_a_receipt_cut_short_counts_as_none(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"go/one": MANIFEST})
    receipt_path(project, "go/one").parent.mkdir(parents=True)
    receipt_path(project, "go/one").write_text('{"schema": 1, "sta', encoding="utf-8")
    assert discover(project, probe=lambda need: None).states["go/one"].state == "available"


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


def test_a_broken_manifest_stops_no_other_target(tmp_path: Path) -> None:
    broken = MANIFEST.replace("go/one", "go/two").replace('["go", "build"]]', '["go", "build"]')
    project = project_with(tmp_path, {"go/one": MANIFEST, "go/two": broken})
    registry = discover(project, probe=lambda need: None)
    assert registry.names() == ["go/one"]
    assert list(registry.broken) == ["go/two"]
    assert re.search(r"go/two/target\.toml:\d+", registry.broken["go/two"])
    for ask in (registry.get, lambda name: registry.select([name])):
        with pytest.raises(FeedbenchError, match=r"go/two can't be used: .*target\.toml"):
            ask("go/two")
    assert [target.name for target in registry.select(["go"])] == ["go/one"]


def test_targets_lists_a_broken_manifest_and_fails_only_when_asked_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_with(tmp_path, {"go/one": MANIFEST, "go/two": "schema = "})
    registry = discover(Project(tmp_path), probe=lambda need: None)
    monkeypatch.setattr("feedbench.cli.targets.discover", lambda *_, **__: registry)
    listed = CliRunner().invoke(app, ["targets", "--json"])
    assert listed.exit_code == 0
    states = {row["name"]: row["state"] for row in json.loads(listed.stdout)}
    assert states == {"go/one": "available", "go/two": "broken"}
    checked = CliRunner().invoke(app, ["targets", "--check"])
    assert isinstance(checked.exception, FeedbenchError)
    assert "go/two" in str(checked.exception)


def test_the_manifests_of_this_checkout_can_all_be_read() -> None:
    assert discover(Project.find(Path(__file__).parent), probe=lambda need: None).broken == {}


def test_the_packages_wanted_are_the_targets_and_the_launchers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = MANIFEST.replace('hint = "Debian: apt-get install golang"', 'debian = ["golang"]')
    monkeypatch.setattr("feedbench.cli.targets.missing_need", lambda need: f"{need.name} is not there")
    project = project_with(tmp_path, {"go/one": manifest})
    monkeypatch.setattr("feedbench.cli.targets.Project.find", lambda: project)
    assert CliRunner().invoke(app, ["targets", "--debian"]).stdout.split() == ["golang", "haproxy"]
    assert CliRunner().invoke(app, ["targets", "--debian", "go"]).stdout.split() == ["golang"]
