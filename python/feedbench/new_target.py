"""A new target begins as a copy of its nearest neighbour: the shortest way to something that builds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from feedbench.build import source_files
from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.registry import Registry
from feedbench.target import MANIFEST, Target

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*/[a-z0-9][a-z0-9_.-]*")


@dataclass(frozen=True)
class Mention:
    """A place in the copy that still speaks of the neighbour; `line` counts from 1."""

    file: Path
    line: int
    text: str


@dataclass(frozen=True)
class NewTarget:
    """The copy, and the places in it that want a change."""

    folder: Path
    copied_from: str
    mentions: tuple[Mention, ...]


def create(name: str, registry: Registry, *, project: Project, like: str | None = None) -> NewTarget:
    """Copies the neighbour's sources into targets/<name>; FeedbenchError for a bad or taken name."""
    if not _NAME.fullmatch(name):
        raise FeedbenchError(
            f'"{name}" is no name for a target', hint="write language/library in small letters"
        )
    folder = project.targets / name
    if folder.exists():
        raise FeedbenchError("it is there already", where=str(folder), hint="choose another name or edit it")
    neighbour = registry.get(like) if like is not None else nearest_neighbour(name, registry)
    for file in [*source_files(neighbour.folder), neighbour.folder / "README.md"]:
        if file.exists():
            copy = folder / file.relative_to(neighbour.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
    _rename(folder / MANIFEST, neighbour, name)
    return NewTarget(folder, neighbour.name, tuple(_mentions(folder, neighbour)))


def nearest_neighbour(name: str, registry: Registry) -> Target:
    """The smallest target of the same language, else the smallest of all: the least to read and to change."""
    language = name.split("/")[0]
    known = registry.select([])
    same = [target for target in known if target.name.split("/")[0] == language]
    if not known:
        raise FeedbenchError("there is no target to copy", hint="see spec/README.md for what one consists of")
    return min(same or known, key=lambda target: (_size(target), target.name))


def _size(target: Target) -> int:
    """Lock files are long and nobody reads them."""
    return sum(file.stat().st_size for file in source_files(target.folder) if file.name != target.lock)


def _rename(manifest: Path, neighbour: Target, name: str) -> None:
    text = manifest.read_text(encoding="utf-8")
    for key, old, new in (
        ("name", neighbour.name, name),
        ("library", neighbour.library, name.split("/")[1]),
    ):
        text = re.sub(
            rf'^{key}(\s*)=(\s*)"{re.escape(old)}"', rf'{key}\1=\2"{new}"', text, count=1, flags=re.M
        )
    manifest.write_text(text, encoding="utf-8")


def _mentions(folder: Path, neighbour: Target) -> Iterator[Mention]:
    old = {neighbour.library, neighbour.name.split("/")[1]}
    word = re.compile(
        "|".join(rf"(?<![\w.:/]){re.escape(one)}(?![\w:])" for one in sorted(old)), re.IGNORECASE
    )
    for file in [*source_files(folder), folder / "README.md"]:
        if not file.exists() or file.name == neighbour.lock:
            continue
        for number, line in enumerate(
            file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        ):
            if word.search(line):
                yield Mention(file, number, line.strip())
