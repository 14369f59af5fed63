"""Building: receipts, what makes a build needless, and failures that stop nothing else."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import jsonschema
import psutil
import pytest

from feedbench import build
from feedbench.build import build_target, source_files, sources_sha256
from feedbench.builder import build_targets
from feedbench.document import SPEC
from feedbench.errors import RunDirectoryError
from feedbench.paths import Project
from feedbench.receipt import Receipt, read_receipt, write_receipt
from feedbench.registry import discover, receipt_path
from feedbench.target import Target

MANIFEST = """\
schema = 1
name = "{name}"
language = "Shell"
library = "none"
roles = ["server"]
speaks = ["ws"]
models = ["echo"]
[build]
commands = [["sh", "-c", "echo made >> {{build}}/made"]]
[version]
command = ["echo", "1.2.3"]
[toolchain]
command = ["echo", "sh 5"]
[run.server]
command = ["false"]
[options]
deflate = "off"
"""


def make_project(folder: Path, *names: str) -> Project:
    for name in names or ("sh/one",):
        (folder / "targets" / name).mkdir(parents=True)
        (folder / "targets" / name / "target.toml").write_text(MANIFEST.format(name=name), encoding="utf-8")
        (folder / "targets" / name / "server.sh").write_text("exit 0\n", encoding="utf-8")
    return Project(folder)


def only_target(project: Project) -> Target:
    return discover(project).targets[0]


def built(project: Project, target: Target | None = None, *, force: bool = False) -> Receipt:
    return build_target(target or only_target(project), project=project, say=lambda line: None, force=force)


def times_made(project: Project) -> int:
    return len((project.scratch / "build" / "sh-one" / "made").read_text().splitlines())


def test_a_build_leaves_a_receipt_that_the_schema_accepts_and_that_reads_back(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    receipt = built(project)
    assert (receipt.state, receipt.version, receipt.toolchain, receipt.reason) == (
        "built",
        "1.2.3",
        "sh 5",
        None,
    )
    assert receipt.options == {"deflate": "off"}
    path = receipt_path(project, "sh/one")
    assert read_receipt(path) == receipt
    schema = json.loads((SPEC / "receipt.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schema)
    assert discover(project).states["sh/one"].version == "1.2.3"


def test_nothing_is_built_twice_until_something_that_goes_into_it_changes(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    first = built(project)
    assert built(project) == first
    assert times_made(project) == 1
    assert built(project, force=True).started_unix_ns > first.started_unix_ns
    (project.targets / "sh/one/server.sh").write_text("exit 1\n", encoding="utf-8")
    built(project)
    assert times_made(project) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "new.sh").write_text(""),
        lambda folder: (folder / "server.sh").rename(folder / "main.sh"),
        lambda folder: (
            (folder.parent / "_support").mkdir() or (folder.parent / "_support/a.sh").write_text("a")
        ),
    ],
    ids=["a new file", "a renamed file", "the language's shared code"],
)
def test_the_hash_of_the_sources_sees(tmp_path: Path, change) -> None:  # type: ignore[no-untyped-def]
    target = only_target(make_project(tmp_path))
    before = sources_sha256(target)
    change(target.folder)
    assert sources_sha256(target) != before


def test_the_hash_of_the_sources_sees_what_is_compiled_in_from_elsewhere(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    crate, lonely = tmp_path / "crates" / "wire", tmp_path / "Cargo.toml"
    (crate / "src").mkdir(parents=True)
    (crate / "src" / "lib.rs").write_text("1")
    lonely.write_text("1")
    manifest = project.targets / "sh/one/target.toml"
    named = 'sources = ["../../../crates/wire", "../../../Cargo.toml"]'
    manifest.write_text(MANIFEST.format(name="sh/one").replace("[build]", f"[build]\n{named}"))
    hashes = [sources_sha256(only_target(project))]
    (crate / "src" / "lib.rs").write_text("2")
    hashes.append(sources_sha256(only_target(project)))
    lonely.write_text("2")
    hashes.append(sources_sha256(only_target(project)))
    (crate / "target").mkdir()
    (crate / "target" / "made").write_text("no source")
    assert len(set(hashes)) == 3
    assert sources_sha256(only_target(project)) == hashes[-1]


def test_our_own_fix_client_is_built_anew_when_the_crate_below_it_changes() -> None:
    project = Project.find(Path(__file__).parent)
    target = discover(project, probe=lambda need: None).get("rust/feedbench-wire")
    files = {file for root in target.outside_sources for file in source_files(root)}
    assert project.root / "crates/wire/src/fix/session.rs" in files
    assert project.root / "crates/wire/Cargo.toml" in files


def test_what_a_build_leaves_beside_the_sources_is_no_source(tmp_path: Path) -> None:
    target = only_target(make_project(tmp_path))
    for name in ("node_modules", "__pycache__", "target"):
        (target.folder / name).mkdir()
        (target.folder / name / "x").write_text("x")
    (target.folder / "README.md").write_text("x")
    assert [file.name for file in source_files(target.folder)] == ["server.sh", "target.toml"]


def test_an_outcome_that_is_gone_is_made_again(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    built(project)
    (project.scratch / "build/sh-one/made").unlink()
    (project.scratch / "build/sh-one").rmdir()
    built(project)
    assert times_made(project) == 1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("sh", "-c", "echo first; echo the reason >&2; exit 3"), "sh ended with status 3: $ sh -c"),
        (("no-such-compiler",), "cannot start no-such-compiler: No such file"),
        (("sh", "-c", "kill -9 $$"), "sh was ended by SIGKILL"),
    ],
    ids=["a status", "no program", "a signal"],
)
def test_a_failing_build_is_a_receipt_with_the_last_lines(
    tmp_path: Path, command: tuple[str, ...], reason: str
) -> None:
    project = make_project(tmp_path)
    target = replace(only_target(project), build_commands=(command,))
    receipt = built(project, target)
    assert receipt.state == "failed"
    assert receipt.reason is not None
    assert receipt.reason.startswith(reason)
    assert ".feedbench/logs/build-sh-one.log" in receipt.reason
    assert receipt.version is None
    assert discover(project).states["sh/one"].state == "failed"
    assert built(project).state == "built", "a failed build is tried again"


def test_a_build_without_an_end_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BUILD_TIMEOUT_S", 0.5)
    project = make_project(tmp_path)
    mark = tmp_path / "child"
    target = replace(
        only_target(project), build_commands=(("sh", "-c", f"sleep 600 & echo $! > {mark}; wait"),)
    )
    receipt = built(project, target)
    assert receipt.reason is not None
    assert "did not end within 0.5 s" in receipt.reason
    child = int(mark.read_text())
    deadline = time.monotonic() + 10
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_version_that_nobody_tells_fails_the_build(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    receipt = built(project, replace(only_target(project), version_command=("true",)))
    assert receipt.reason == "the command under [version] prints no version"


def test_one_failure_does_not_stop_the_rest_and_a_missing_tool_is_told(tmp_path: Path) -> None:
    project = make_project(tmp_path, "sh/a", "sh/b", "sh/c")
    broken = (project.targets / "sh/a/target.toml").read_text().replace('"sh", "-c"', '"false"')
    (project.targets / "sh/a/target.toml").write_text(broken)
    needy = (project.targets / "sh/b/target.toml").read_text()
    needs = '[[needs]]\ntool = "no-such-tool"\nhint = "apt-get install it"\n'
    (project.targets / "sh/b/target.toml").write_text(needy.replace("[build]", needs + "[build]"))
    said: list[str] = []
    registry = discover(project)
    receipts = build_targets(registry.targets, registry, project=project, say=said.append)
    assert [receipt.state for receipt in receipts] == ["failed", "missing", "built"]
    assert "sh/b: left out, no-such-tool is not on PATH (apt-get install it)" in said
    assert not receipt_path(project, "sh/b").exists()


def test_a_damaged_receipt_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    write_receipt(path, built(make_project(tmp_path)))
    path.write_text(path.read_text().replace('"version"', '"versions"'))
    with pytest.raises(RunDirectoryError, match="not a build receipt"):
        read_receipt(path)
