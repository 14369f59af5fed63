"""The registry: every target below targets/, found by its target.toml, and whether it can be used here."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from feedbench.errors import FeedbenchError
from feedbench.paths import Project, target_id
from feedbench.receipt import BuildState, Receipt, read_receipt
from feedbench.suggest import nearest
from feedbench.target import MANIFEST, Need, Target, read_target

__all__ = ["Need", "Registry", "State", "Target", "discover", "receipt_path"]

VERSION_TIMEOUT_S = 20
# Go says `go version`, old JDKs `-version`; the first that prints a number is believed.
VERSION_ARGUMENTS = ("--version", "-version", "version")


@dataclass(frozen=True)
class State:
    """`built`, `available` (it could be built), `missing` (a tool is) or `failed` (its last build did)."""

    state: BuildState
    reason: str | None
    version: str | None


@dataclass(frozen=True)
class Registry:
    """All targets, sorted by name, and the state of each."""

    targets: tuple[Target, ...]
    states: Mapping[str, State]

    def names(self) -> list[str]:
        return [target.name for target in self.targets]

    def get(self, name: str) -> Target:
        """The target of that name; FeedbenchError with the nearest known one when there is none."""
        for target in self.targets:
            if target.name == name:
                return target
        raise FeedbenchError(f'there is no target "{name}"', hint=nearest(name, self.names()))

    def matching(self, pattern: str) -> list[Target]:
        """By name or glob (`python/*`); fakes only where the pattern names them."""
        return [target for target in self.targets if matches(target.name, pattern)]

    def select(self, filters: Iterable[str]) -> list[Target]:
        """What the FILTERs of a command choose, in the registry's order; without filters all but the fakes.

        A filter is a name, a glob, or a language's folder: `node/ws`, `*/ws`, `python`.
        FeedbenchError when one of them matches nothing: a typing mistake must not pass as "nothing to do".
        """
        patterns = list(filters) or ["*"]
        chosen: set[str] = set()
        for pattern in patterns:
            wide = pattern if any(sign in pattern for sign in "/*?[") else f"{pattern}/*"
            found = {target.name for target in self.matching(wide)}
            if not found and list(filters):
                raise FeedbenchError(f'no target matches "{pattern}"', hint=nearest(pattern, self._words()))
            chosen |= found
        return [target for target in self.targets if target.name in chosen]

    def _words(self) -> list[str]:
        return self.names() + sorted({target.name.split("/")[0] for target in self.targets})


def matches(name: str, pattern: str) -> bool:
    """`fnmatch`, but a hidden family (`_fake/…`) wants to be named, as hidden files do in a shell."""
    return fnmatchcase(name, pattern) and (not name.startswith("_") or pattern.startswith("_"))


def discover(project: Project, *, probe: Callable[[Need], str | None] | None = None) -> Registry:
    """Reads every manifest. `probe` says what is wrong with a need, None when nothing is."""
    folders = sorted(manifest.parent for manifest in project.targets.glob(f"*/*/{MANIFEST}"))
    targets = tuple(read_target(folder, root=project.targets) for folder in folders)
    ask = remembering(probe or missing_need)
    return Registry(
        targets=targets,
        states={
            target.name: target_state(target, receipt=read_latest_receipt(project, target.name), probe=ask)
            for target in targets
        },
    )


def receipt_path(project: Project, target: str) -> Path:
    """Where the latest build of a target left its receipt; a run keeps its own copy."""
    return project.scratch / "receipts" / f"{target_id(target)}.json"


def target_state(target: Target, *, receipt: Receipt | None, probe: Callable[[Need], str | None]) -> State:
    """A missing tool outweighs an old receipt, since the server could not run either."""
    for need in target.needs:
        if (lack := probe(need)) is not None:
            return State("missing", lack, None)
    if receipt is None:
        return State("available", None, None)
    return State(receipt.state, receipt.reason, receipt.version)


def remembering(probe: Callable[[Need], str | None]) -> Callable[[Need], str | None]:
    """Asks for each need once: many targets want the same tool, and asking starts a process."""
    known: dict[Need, str | None] = {}

    def ask(need: Need) -> str | None:
        if need not in known:
            known[need] = probe(need)
        return known[need]

    return ask


def missing_need(need: Need) -> str | None:
    """What is wrong with a need on this machine, with what would bring it in; None when it is met."""
    found = shutil.which(need.tool)
    if found is None:
        return f"{need.tool} is not on PATH ({need.hint})"
    if need.minimum is None:
        return None
    version = tool_version(found)
    if version is None:
        return f"{need.tool} does not tell its version; {need.minimum} or newer is wanted ({need.hint})"
    if version_key(version) < version_key(need.minimum):
        return f"{need.tool} is {version}; {need.minimum} or newer is wanted ({need.hint})"
    return None


def tool_version(program: str) -> str | None:
    """The first number that the program prints when asked for its version, on either stream."""
    for argument in VERSION_ARGUMENTS:
        try:
            asked = subprocess.run(
                [program, argument],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VERSION_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        number = re.search(r"\d+(?:\.\d+)*", asked.stdout + asked.stderr)
        if asked.returncode == 0 and number is not None:
            return number[0]
    return None


def version_key(version: str) -> tuple[int, ...]:
    """`"1.26.8"` → (1, 26, 8), for comparing; trailing zeros do not count: 18 equals 18.0."""
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def read_latest_receipt(project: Project, target: str) -> Receipt | None:
    """Of the latest build; None when there is none, or only one cut short, which proves nothing."""
    path = receipt_path(project, target)
    try:
        return read_receipt(path) if path.exists() else None
    except FeedbenchError:
        return None
