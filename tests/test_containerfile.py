"""A Containerfile from a manifest: the golden one, what can't be described, and no claim to have built it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedbench import containerfile as module
from feedbench.cli import app
from feedbench.containerfile import containerfile, running_engine
from feedbench.errors import FeedbenchError
from feedbench.target import Need, Target
from planning import make_target

UPDATE = "FEEDBENCH_UPDATE_GOLDEN"
GOLDEN = Path(__file__).parent / "golden" / "Containerfile"


def target() -> Target:
    return replace(
        make_target("cpp/one"),
        needs=(
            Need("tool", "c++", None, "", ("g++", "make")),
            Need("library", "libone", "4.3", "", ("libone-dev",)),
            Need("header", "two.hpp", None, "", ("libtwo-dev", "g++")),
        ),
        build_commands=(
            ("make", "BUILD={build}", "SHARED={shared}"),
            ("sh", "-c", 'echo "made from {source}"'),
        ),
        server_command=("{build}/one", "--host", "{host}", "--port", "{port}"),
    )


def test_the_file_is_the_golden_one() -> None:
    text = containerfile(target(), shares_code=True)
    if os.environ.get(UPDATE):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), f"set {UPDATE}=1 if the new one is meant"


def test_each_placeholder_is_filled_and_shared_code_is_copied_only_where_there_is_any() -> None:
    text = containerfile(target(), shares_code=False)
    assert "{" not in text.replace("${BASE}", "")
    assert "_support" not in text


def test_a_need_without_a_package_cannot_be_described() -> None:
    rare = replace(target(), needs=(Need("tool", "deno", None, "npm install deno"),))
    with pytest.raises(FeedbenchError, match=r"needs deno.*names no Debian package.*npm install deno"):
        containerfile(rare, shares_code=False)
    with pytest.raises(FeedbenchError, match="no server"):
        containerfile(replace(target(), server_command=None), shares_code=False)


@pytest.mark.parametrize(
    ("script", "found"), [("exit 0", "docker"), ("exit 1", None)], ids=["running", "installed only"]
)
def test_an_engine_counts_when_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, found: str | None
) -> None:
    (tmp_path / "docker").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert running_engine() == found


def test_where_no_engine_runs_that_is_said_and_the_file_goes_to_stdout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("feedbench.cli.containerfile.running_engine", lambda: None)
    monkeypatch.setattr(module, "_packages", lambda target: ["python3"])
    said = CliRunner().invoke(app, ["containerfile", "_fake/echo"])
    assert said.exit_code == 0
    assert said.stdout.startswith("# _fake/echo, from its target.toml")
    assert said.stderr == "not built: no container engine runs here (podman or docker)\n"
