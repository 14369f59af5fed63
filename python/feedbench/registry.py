"""The registry: every target below targets/, found by its target.toml, and whether it can be used here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from feedbench.errors import FeedbenchError, ManifestError
from feedbench.needs import missing_need, remembering
from feedbench.paths import Project, build_id
from feedbench.receipt import BuildState, Receipt, read_receipt
from feedbench.suggest import nearest
from feedbench.target import DEBUG, MANIFEST, Need, Target, read_target

__all__ = ["Need", "Registry", "State", "Target", "discover", "receipt_path"]


@dataclass(frozen=True)
class State:
    """`built`, `available` (it could be built), `missing` (a tool is) or `failed` (its last build did)."""

    state: BuildState
    reason: str | None
    version: str | None


@dataclass(frozen=True)
class Registry:
    """All targets, sorted by name, and the state of each; `debug_failures` are of debug builds, by target.

    `broken` says, by name, what is wrong with a manifest: such a target can't be had, and stops no other.
    """

    targets: tuple[Target, ...]
    states: Mapping[str, State]
    debug_failures: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        return [target.name for target in self.targets]

    def get(self, name: str) -> Target:
        """The target of that name; FeedbenchError with the nearest known one when there is none."""
        for target in self.targets:
            if target.name == name:
                return target
        if name in self.broken:
            raise FeedbenchError(f"{name} can't be used: {self.broken[name]}")
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
            if pattern in self.broken:
                raise FeedbenchError(f"{pattern} can't be used: {self.broken[pattern]}")
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
    targets: list[Target] = []
    broken: dict[str, str] = {}
    for folder in sorted(manifest.parent for manifest in project.targets.glob(f"*/*/{MANIFEST}")):
        try:
            targets.append(read_target(folder, root=project.targets))
        except ManifestError as error:
            broken[folder.relative_to(project.targets).as_posix()] = str(error)
    ask = remembering(probe or missing_need)
    return Registry(
        targets=tuple(targets),
        states={
            target.name: target_state(target, receipt=read_latest_receipt(project, target.name), probe=ask)
            for target in targets
        },
        debug_failures={
            target.name: receipt.reason
            for target in targets
            if target.debug_commands is not None
            and (receipt := read_latest_receipt(project, target.name, DEBUG)) is not None
            and receipt.reason is not None
        },
        broken=broken,
    )


def receipt_path(project: Project, target: str, mode: str = "release") -> Path:
    """Where the latest build of a target left its receipt; a run keeps its own copy."""
    return project.scratch / "receipts" / f"{build_id(target, mode)}.json"


def target_state(target: Target, *, receipt: Receipt | None, probe: Callable[[Need], str | None]) -> State:
    """A missing tool outweighs an old receipt, since the server could not run either."""
    for need in target.needs:
        if (lack := probe(need)) is not None:
            return State("missing", lack, None)
    if receipt is None:
        return State("available", None, None)
    return State(receipt.state, receipt.reason, receipt.version)


def read_latest_receipt(project: Project, target: str, mode: str = "release") -> Receipt | None:
    """Of the latest build; None when there is none, or only one cut short, which proves nothing."""
    path = receipt_path(project, target, mode)
    try:
        return read_receipt(path) if path.exists() else None
    except FeedbenchError:
        return None
