"""What a build left behind: which version, by which toolchain, from which sources (spec/README.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from feedbench.errors import RunDirectoryError
from feedbench.paths import SCHEMA, read_json, write_json
from feedbench.typed_json import from_json, to_json

BuildState = Literal["built", "available", "missing", "failed"]


@dataclass(frozen=True)
class Receipt:
    """`reason` says why it is not built; `log` is the build's output; `seconds` is how long it took.

    `options` are the manifest's, so that a run directory can be read far from home; so are the figures of its
    code.
    """

    target: str
    state: BuildState
    reason: str | None
    version: str | None
    toolchain: str | None
    mode: str
    commands: tuple[tuple[str, ...], ...]
    sources_sha256: str
    lock_sha256: str | None
    started_unix_ns: int
    seconds: float
    log: str | None
    options: Mapping[str, str]
    source_lines: int | None = None
    direct_dependencies: int | None = None
    all_dependencies: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **to_json(self)}


def read_receipt(path: Path) -> Receipt:
    """The receipt in `path`; RunDirectoryError when it is missing, cut short or of another schema."""
    document = read_json(path, needed_for="know what was built")
    try:
        return from_json(Receipt, document)
    except ValueError as error:
        raise RunDirectoryError(
            f"this is not a build receipt ({error})", where=str(path), hint="feedbench build writes it anew"
        ) from error


def write_receipt(path: Path, receipt: Receipt) -> None:
    write_json(path, receipt.to_json())
