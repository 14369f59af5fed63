"""What is to be kept running: every client on every exchange (spec/feed.md, “Supervised”)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.document import TomlDocument
from feedbench.errors import ScenarioError
from feedbench.feed.client import Address
from feedbench.pipeline.series import Series


@dataclass(frozen=True)
class Endpoint:
    """An exchange as clients are told of it. `subscribe` are sent once the connection is open."""

    address: Address
    subscribe: tuple[str, ...]
    ca_file: str | None


@dataclass(frozen=True)
class Task:
    """`clients` are targets; `sink` is what they write to."""

    name: str
    clients: tuple[str, ...]
    endpoints: tuple[Endpoint, ...]
    sink: str

    def series(self) -> list[tuple[Series, str, Endpoint]]:
        """Each series with its target."""
        return [
            (Series(endpoint.address.exchange, client.replace("/", "-")), client, endpoint)
            for endpoint in self.endpoints
            for client in self.clients
        ]


def read_task(path: Path) -> Task:
    """ScenarioError, with its line, when the file says something that can't be understood."""
    document = TomlDocument.read(path, error=ScenarioError)
    document.check("supervise")
    content = document.content
    task = Task(
        name=content["name"],
        clients=tuple(content["clients"]),
        endpoints=tuple(_endpoint(entry) for entry in content["exchanges"]),
        sink=content["sink"],
    )
    names = [endpoint.address.exchange for endpoint in task.endpoints]
    if len(set(names)) < len(names):
        raise ScenarioError("two exchanges have the same name", where=str(path))
    return task


def _endpoint(entry: Mapping[str, Any]) -> Endpoint:
    return Endpoint(
        Address(entry["name"], entry["domain"], entry["port"], entry["stream"]),
        tuple(entry.get("subscribe", ())),
        entry.get("ca_file"),
    )
