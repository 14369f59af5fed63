"""What a run directory tells beside the clients' files: versions, the host. Files alone don't tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.paths import Project, RunDirectory, target_id
from feedbench.receipt import read_receipt
from feedbench.registry import discover


@dataclass(frozen=True)
class ClientFacts:
    """None is what is not known."""

    language: str | None
    library: str | None
    version: str | None
    toolchain: str | None


@dataclass(frozen=True)
class Setting:
    """`clients` by target-id, `host` as in host.json. `origin` is a sentence for captions."""

    origin: str
    clients: Mapping[str, ClientFacts] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)


def setting_of_run(run: RunDirectory) -> Setting:
    """What its build receipts, host.json and the manifests of this checkout tell."""
    registry = discover(Project.find())
    known = set(registry.names())
    clients = {}
    for path in sorted((run.path / "build").glob("*.json")):
        receipt = read_receipt(path)
        manifest = registry.get(receipt.target) if receipt.target in known else None
        clients[target_id(receipt.target)] = ClientFacts(
            manifest.language if manifest else None,
            manifest.library if manifest else None,
            receipt.version,
            receipt.toolchain,
        )
    return Setting(f"the run {run.path.name}", clients, _host(run.host))


def _host(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    try:
        document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FeedbenchError(f"this is no JSON: {error}", where=str(path)) from error
    return document
