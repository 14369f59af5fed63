"""Needs: what this machine lacks is found out by asking its own tools, and told with its remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from feedbench.needs import debian_packages, missing_need, remembering, tool_version, version_key
from feedbench.target import Need


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
    assert missing_need(Need("tool", "tool", minimum, "install it")) == lack


def test_a_tool_that_is_nowhere_is_missing_with_its_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (
        missing_need(Need("tool", "tool", None, "apt-get install tool"))
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
    need = Need("tool", "go", "1.22", "hint")
    assert (probe(need), probe(need), len(asked)) == (None, None, 1)


def pkg_config(folder: Path) -> Path:
    """A folder whose pkg-config knows one library, in version 4.3.2-rc1."""
    script = '[ "$1" = --modversion ] && [ "$2" = libpresent ] && echo 4.3.2-rc1'
    program(folder, script).rename(folder / "pkg-config")
    return folder


@pytest.mark.parametrize(
    ("name", "minimum", "lack"),
    [
        ("libpresent", None, None),
        ("libpresent", "4.3", None),
        ("libpresent", "5", "libpresent is 4.3.2; 5 or newer is wanted (install it)"),
        ("libabsent", None, "pkg-config knows no library libabsent (install it)"),
    ],
)
def test_a_library_is_what_pkg_config_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, minimum: str | None, lack: str | None
) -> None:
    monkeypatch.setenv("PATH", f"{pkg_config(tmp_path)}:/usr/bin:/bin")
    assert missing_need(Need("library", name, minimum, "install it")) == lack


def test_without_pkg_config_that_is_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    need = Need("library", "libpresent", None, "install it", ("libpresent-dev",))
    lack = missing_need(need)
    assert lack == "pkg-config, which would find the library libpresent, is not on PATH (install it)"
    assert debian_packages([need], probe=missing_need) == ["libpresent-dev", "pkg-config"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on PATH")
def test_a_header_is_looked_for_where_the_compiler_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/present.hpp").write_text("")
    need = Need("header", "lib/present.hpp", None, "install it")
    told = "the header lib/present.hpp is not among the compiler's include folders (install it)"
    assert missing_need(need) == told
    monkeypatch.setenv("CPATH", str(tmp_path))
    assert missing_need(need) is None


def test_without_a_compiler_the_usual_folders_are_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "present.h").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("feedbench.needs.INCLUDE_FOLDERS", (tmp_path,))
    assert missing_need(Need("header", "present.h", None, "hint")) is None
    assert missing_need(Need("header", "absent.h", None, "hint")) is not None


def test_each_missing_package_is_named_once_and_what_is_here_is_not() -> None:
    def need(name: str, *packages: str) -> Need:
        return Need("tool", name, None, "hint", packages)

    needs = [need("a", "one", "two"), need("here", "three"), need("b", "two", "four"), need("c")]
    packages = debian_packages(needs, probe=lambda asked: None if asked.name == "here" else "missing")
    assert packages == ["one", "two", "four"]
