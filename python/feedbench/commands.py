"""A manifest's commands, ready to run: placeholders filled in, environment made."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from feedbench.errors import ManifestError
from feedbench.paths import Project
from feedbench.target import MANIFEST, Command, Target

KNOB_PREFIX = "FEEDBENCH_"


def scratch_folder(project: Project, target: Target) -> Path:
    """What `{build}` stands for: the target's own folder for build products, kept between builds."""
    return project.scratch / "build" / target.id


def fill(command: Command, *, target: Target, project: Project, **more: str) -> list[str]:
    """The command's arguments with `{python}`, `{build}`, `{source}` and those of `more` filled in.

    Braces that hold no known word stay as they are: they may be the program's own.
    """
    words = {
        "python": base_python(),
        "build": str(scratch_folder(project, target)),
        "source": str(target.folder),
        **more,
    }
    filled = []
    for argument in command:
        for word, text in words.items():
            argument = argument.replace(f"{{{word}}}", text)
        filled.append(argument)
    if not filled[0]:
        raise ManifestError("a command begins with an empty text", where=str(target.folder / MANIFEST))
    return filled


def base_python() -> str:
    """The interpreter below feedbench's own virtual environment; targets make their own."""
    return str(Path(sys.executable).resolve())


def environment(knobs: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, with FEEDBENCH_<KNOB> set for `knobs` and nothing else."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(KNOB_PREFIX)}
    return inherited | {KNOB_PREFIX + knob.upper(): value for knob, value in (knobs or {}).items()}
