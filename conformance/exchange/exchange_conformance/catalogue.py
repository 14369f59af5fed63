"""What is run: `trials.toml`, one table for each client and exchange."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exchange_conformance.errors import ConformanceError
from exchange_conformance.reading import DIALECTS

ROOM = Path(__file__).resolve().parent.parent
PLACES = ("ports", "namespace")


@dataclass(frozen=True)
class WitnessPlan:
    """One raw connection beside the client's, with the same subscriptions."""

    path: str
    send: tuple[str, ...] = ()
    symbol: str | None = None
    """Where the exchange's messages do not name it."""
    snapshots: tuple[str, ...] = ()
    """REST paths of the books that the exchange does not send on the socket."""


@dataclass(frozen=True)
class Trial:
    """One client at one exchange."""

    client: str
    """Its folder: `python/ccxt`."""
    exchange: str
    """The exchange's name in the driver's arguments and in the report."""
    personality: str
    dialect: str
    place: str
    """`ports`: the client is given URLs. `namespace`: it uses those that are built into it."""
    witness: tuple[WitnessPlan, ...]
    book_depth: int | None = None
    greeted: tuple[str, ...] = ()
    """Channels in which a subscriber is first told how things stand, by a message made for it alone."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that point the client; `{ws}` and `{rest}` stand for the exchange's URLs."""

    @property
    def name(self) -> str:
        return f"{self.client}@{self.exchange}"

    @property
    def language(self) -> str:
        return self.client.split("/")[0]

    @property
    def folder(self) -> Path:
        return ROOM / self.client

    @property
    def directory_name(self) -> str:
        return self.name.replace("/", "-")


@dataclass(frozen=True)
class Catalogue:
    """All trials, and the real addresses of the exchanges."""

    trials: tuple[Trial, ...]
    hosts: dict[str, dict[str, str]]
    """For each personality its `ws` and `rest` base as clients have them built in."""

    def select(self, filters: Sequence[str]) -> tuple[Trial, ...]:
        """Those whose name contains one of the filters; all without a filter."""
        chosen = tuple(
            trial for trial in self.trials if not filters or any(part in trial.name for part in filters)
        )
        if not chosen:
            names = ", ".join(trial.name for trial in self.trials)
            raise ConformanceError(f"no trial is called {' or '.join(filters)}: there are {names}")
        return chosen


def read_catalogue(path: Path = ROOM / "trials.toml") -> Catalogue:
    """Reads and checks the file; ConformanceError names the trial that is wrong."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    hosts = document["hosts"]
    trials = tuple(_trial(table, hosts, path) for table in document["trial"])
    return Catalogue(trials, hosts)


def _trial(table: dict[str, Any], hosts: dict[str, Any], path: Path) -> Trial:
    try:
        witness = tuple(_witness(plan) for plan in table.pop("witness"))
        table["greeted"] = tuple(table.get("greeted", ()))
        trial = Trial(
            **{"dialect": table["personality"], "exchange": table["personality"], **table}, witness=witness
        )
    except (KeyError, TypeError) as error:
        raise ConformanceError(
            f"{path}: a trial of {table.get('client')} is not understood: {error}"
        ) from error
    for what, value, known in (
        ("personality", trial.personality, hosts),
        ("dialect", trial.dialect, DIALECTS),
        ("place", trial.place, PLACES),
    ):
        if value not in known:
            raise ConformanceError(f"{path}: {trial.name}: {what} {value!r} is none of {', '.join(known)}")
    return trial


def _witness(table: dict[str, Any]) -> WitnessPlan:
    send, snapshots = (tuple(table.pop(key, ())) for key in ("send", "snapshots"))
    return WitnessPlan(**table, send=send, snapshots=snapshots)
