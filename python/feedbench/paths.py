"""Where things stand: the project's folders, and the files of a run directory (spec/README.md)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import FeedbenchError, RunDirectoryError

SCHEMA = 1


@dataclass(frozen=True)
class Project:
    """A checkout: the folder that holds `targets/`, `scenarios/` and `crates/`."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Project:
        """The nearest project above `start` (the current folder), else feedbench's own checkout."""
        begin = (start or Path.cwd()).resolve()
        for folder in (begin, *begin.parents, *Path(__file__).resolve().parents):
            if (folder / "targets").is_dir() and (folder / "spec").is_dir():
                return cls(folder)
        raise FeedbenchError(
            "this is not a feedbench checkout",
            where=str(begin),
            hint="change into the folder that holds targets/ and spec/",
        )

    @property
    def targets(self) -> Path:
        return self.root / "targets"

    @property
    def scenarios(self) -> Path:
        return self.root / "scenarios"

    @property
    def conformance(self) -> Path:
        return self.root / "conformance"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def scratch(self) -> Path:
        """Builds and caches; ignored by git."""
        return self.root / ".feedbench"

    @property
    def engine(self) -> Path:
        """The engine's binary; FEEDBENCH_ENGINE overrides it."""
        return self._binary("FEEDBENCH_ENGINE", "feedbench-engine")

    @property
    def exchange(self) -> Path:
        """The simulated exchange's binary; FEEDBENCH_EXCHANGE overrides it."""
        return self._binary("FEEDBENCH_EXCHANGE", "feedbench-exchange")

    @property
    def path_emulator(self) -> Path:
        """The network path's binary; FEEDBENCH_PATH overrides it."""
        return self._binary("FEEDBENCH_PATH", "feedbench-path")

    @property
    def wire_stamps(self) -> Path:
        """What stamps packets; FEEDBENCH_WIRE_STAMPS overrides it."""
        return self._binary("FEEDBENCH_WIRE_STAMPS", "feedbench-wire-stamps")

    def _binary(self, variable: str, name: str) -> Path:
        override = os.environ.get(variable)
        return Path(override) if override else self.root / "target" / "release" / name


@dataclass(frozen=True)
class RunDirectory:
    """One run; every stage adds files to it and none takes any away."""

    path: Path

    @property
    def scenario(self) -> Path:
        return self.path / "scenario.toml"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def host(self) -> Path:
        return self.path / "host.json"

    @property
    def cluster(self) -> Path:
        """Stands where a run is made on several machines: where their scheduler is."""
        return self.path / "cluster.json"

    @property
    def ceiling(self) -> Path:
        return self.path / "ceiling.json"

    @property
    def networks(self) -> Path:
        """What the networks that the plan asks for were measured to be."""
        return self.path / "networks.json"

    @property
    def capacity(self) -> Path:
        return self.path / "capacity.json"

    @property
    def conformance(self) -> Path:
        return self.path / "conformance.json"

    @property
    def findings(self) -> Path:
        return self.path / "findings.json"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def figures(self) -> Path:
        return self.path / "figures"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def receipt(self, target: str, mode: str = "release") -> Path:
        return self.path / "build" / f"{build_id(target, mode)}.json"

    def verdicts(self, target: str) -> Path:
        return self.path / "verdicts" / f"{target_id(target)}.json"

    def block(self, index: int) -> Path:
        return self.path / "blocks" / str(index)

    def cell(self, index: int, cell_id: str) -> Path:
        return self.block(index) / cell_id

    def environment(self, index: int, round_id: str) -> Path:
        return self.block(index) / f"environment-{round_id}.json"

    def starts(self, index: int) -> Path:
        return self.block(index) / "starts.json"

    def log(self, index: int, process_id: str) -> Path:
        return self.block(index) / "logs" / f"{process_id}.log"


def target_id(target: str) -> str:
    """`python/websockets` → `python-websockets`, for file names."""
    return target.replace("/", "-")


def build_id(target: str, mode: str) -> str:
    """Names a build's folder and receipt: the target-id, marked where it is the debug build."""
    return target_id(target) + ("~debug" if mode == "debug" else "")


def read_json(path: Path, *, needed_for: str) -> Any:
    """The object in `path`, refused when it is missing, cut short or of another schema."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RunDirectoryError(
            "the file is missing", where=str(path), hint=f"it is needed to {needed_for}"
        ) from error
    except json.JSONDecodeError as error:
        raise RunDirectoryError(
            f"the file is not whole JSON ({error.msg}, line {error.lineno})",
            where=str(path),
            hint="was it cut short?",
        ) from error
    if isinstance(document, dict) and document.get("schema", SCHEMA) != SCHEMA:
        raise RunDirectoryError(
            f"schema {document['schema']} is not the one that this feedbench reads ({SCHEMA})",
            where=str(path),
        )
    return document


def write_json(path: Path, document: Any) -> None:
    """See write_bytes."""
    write_bytes(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes by rename, so that a reader sees the whole file or none (a full disk leaves the old one)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RunDirectoryError(
            f"cannot write it: {error.strerror}", where=str(path), hint="is the disk full?"
        ) from error
