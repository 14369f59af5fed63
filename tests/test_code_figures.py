"""Source lines and dependencies: what counts, for each language's comments and each kind of lock file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.dependencies import Dependencies, dependencies
from feedbench.source_lines import source_lines
from feedbench.target import Need
from planning import make_target

PROGRAMS = {
    "a.py": ('"""A docstring\nof two lines."""\n\n# comment\nx = 1  # and more\ny = """\ntext\n"""\n', 4),
    "a.c": ("#include <stdio.h>\n/* one\n   two */\nint main(void) {\n\n    return 0; // done\n}\n", 4),
    "a.rs": ("//! docs\n/// docs\nfn main() {\n    // nothing\n}\n", 2),
    "a.go": ("package main\n\n// main\nfunc main() {}\n", 2),
    "a.java": ("/** Docs. */\nclass A {\n}\n", 2),
    "a.js": ("// x\nconst a = 1;\n/* b\n*/\n", 1),
    "a.php": ("<?php\n# x\n// y\n$a = 1;\n", 2),
    "a.rb": ("# x\nputs 1\n", 1),
    "a.cs": ("// x\nclass A { }\n", 1),
    "Cargo.toml": ("[package]\n", 0),
    "Makefile": ("all:\n\tcc\n", 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines_with_code_count_and_others_do_not(tmp_path: Path, name: str) -> None:
    text, lines = PROGRAMS[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert source_lines([tmp_path / name]) == lines


LOCKS = {
    "Cargo.lock": (
        {
            "Cargo.lock": '[[package]]\nname = "own"\nversion = "1"\n'
            '[[package]]\nname = "a"\nversion = "1"\nsource = "registry"\n'
            '[[package]]\nname = "b"\nversion = "1"\nsource = "registry"\n',
            "Cargo.toml": '[dependencies]\na = "1"\nsupport = { path = "../_support" }\n',
        },
        Dependencies(1, 2),
    ),
    "package-lock.json": (
        {
            "package-lock.json": '{"packages": {"": {"dependencies": {"ws": "8"}}, "node_modules/ws": {}, '
            '"node_modules/a": {}, "node_modules/t": {"dev": true}}}'
        },
        Dependencies(1, 2),
    ),
    "go.sum": (
        {
            "go.sum": "",
            "go.mod": "module x\n\ngo 1.21\n\n"
            "require (\n\texample.org/support v0.0.0\n\texample.org/a v1.2.3\n)\n"
            "require example.org/b v1.0.0 // indirect\n\nreplace example.org/support => ../_support\n",
        },
        Dependencies(1, 2),
    ),
    "requirements.txt": (
        {
            "requirements.txt": "a==1 \\\n    --hash=sha256:0\nb-c==2 \\\n    --hash=sha256:0\n    # via a\n",
            "requirements.in": "# why\na\n",
        },
        Dependencies(1, 2),
    ),
    "libraries.sha256": (
        {
            "libraries.sha256": "0  a-1.jar\n0  b-1-linux-x86_64.jar\n0  b-1-linux-aarch_64.jar\n",
            "pom.xml": '<project xmlns="x"><dependencies><dependency><groupId>g</groupId>'
            "<artifactId>a</artifactId></dependency></dependencies></project>",
        },
        Dependencies(1, 2),
    ),
    "composer.lock": (
        {
            "composer.lock": '{"packages": [{"name": "a/a"}, {"name": "b/b"}]}',
            "composer.json": '{"require": {"php": "8", "a/a": "1"}}',
        },
        Dependencies(1, 2),
    ),
    "packages.lock.json": (
        {
            "packages.lock.json": '{"dependencies": {"net8.0": {"Fleck": {"type": "Direct"}, "b": {"type": '
            '"Transitive"}, "own": {"type": "Project"}}}}'
        },
        Dependencies(1, 2),
    ),
    "Gemfile.lock": (
        {
            "Gemfile.lock": "GEM\n  specs:\n    a (1.0)\n      b (>= 1)\n    b (2.0)\n\n"
            "DEPENDENCIES\n  a (= 1.0)\n"
        },
        Dependencies(1, 2),
    ),
}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_tells_what_is_named_and_what_comes_along(tmp_path: Path, lock: str) -> None:
    files, expected = LOCKS[lock]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    target = replace(make_target("x/y"), folder=tmp_path, lock=lock)
    assert dependencies(target) == expected
    (tmp_path / lock).write_text("{[", encoding="utf-8")
    damaged = dependencies(target)
    assert damaged in (Dependencies(), Dependencies(1, 0), Dependencies(1, 1), Dependencies(0, 0), expected)


def test_without_a_lock_file_needed_libraries_count(tmp_path: Path) -> None:
    needs = (Need("library", "ssl", None, ""), Need("header", "a.h", None, ""), Need("tool", "cc", None, ""))
    target = replace(make_target("c/y"), folder=tmp_path)
    assert dependencies(replace(target, needs=needs)) == Dependencies(2, None)
    assert dependencies(target) == Dependencies(None, None), "installed with its language: nothing tells"
    assert dependencies(replace(target, library="none")) == Dependencies(0, None)
    assert dependencies(replace(target, lock="other.lock")) == Dependencies()
