"""A manifest's commands, ready to run: placeholders filled in, environment made."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from feedbench.errors import ManifestError
from feedbench.paths import Project, build_id
from feedbench.target import MANIFEST, Command, Target

KNOB_PREFIX = "FEEDBENCH_"


def scratch_folder(project: Project, target: Target, mode: str | None = None) -> Path:
    """What `{build}` stands for: the target's own folder for build products, kept between builds."""
    return _builds(project) / build_id(target.name, mode or target.mode)


def shared_folder(project: Project, target: Target) -> Path:
    """What `{shared}` stands for: what the builds of one language's targets keep for each other."""
    return _builds(project) / "_shared" / target.name.split("/")[0]


def _builds(project: Project) -> Path:
    """Without symbolic links, which npm does not install through: CI's folder is one to the cache."""
    return (project.scratch / "build").resolve()


def fill(
    command: Command, *, target: Target, project: Project, mode: str | None = None, **more: str
) -> list[str]:
    """The command's arguments, their placeholders (spec/README.md) and those of `more` filled in.

    `mode` None is the target's usual build. Braces that hold no known word stay as they are: they may be the
    program's own.
    """
    words = {
        "python": base_python(),
        "build": str(scratch_folder(project, target, mode)),
        "shared": str(shared_folder(project, target)),
        "source": str(target.folder),
        **more,
    }
    filled = fill_words(command, words)
    if not filled[0]:
        raise ManifestError("a command begins with an empty text", where=str(target.folder / MANIFEST))
    return filled


def fill_words(command: Command, words: Mapping[str, str]) -> list[str]:
    """The command's arguments with each `{word}` replaced by its text."""
    filled = []
    for argument in command:
        for word, text in words.items():
            argument = argument.replace(f"{{{word}}}", text)
        filled.append(argument)
    return filled


def base_python() -> str:
    """The interpreter below feedbench's own virtual environment; targets make their own."""
    return str(Path(sys.executable).resolve())


def environment(knobs: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, with FEEDBENCH_<KNOB> set for `knobs` and nothing else."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(KNOB_PREFIX)}
    return inherited | {KNOB_PREFIX + knob.upper(): value for knob, value in (knobs or {}).items()}
