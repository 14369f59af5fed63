"""What a ramp campaign is to play: targets, repeats, and the rounds of each."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from feedbench.document import TomlDocument
from feedbench.errors import FeedbenchError, ScenarioError
from feedbench.paths import SCHEMA, read_json
from feedbench.registry import Registry
from feedbench.suggest import nearest
from feedbench.units import parse_duration

# The study's environment variables, by what they change here.
VARIABLES: Mapping[str, str] = {"ADD_CONNECTIONS": "add", "REQUESTS": "requests", "ROUNDS": "rounds"}
ADDRESS, PORT, LANGUAGE, FOLDER = (
    "WEBSOCKET_ADDRESS",
    "WEBSOCKET_PORT",
    "BENCHMARK_LANGUAGE",
    "BENCHMARK_FOLDER",
)
STUDY_ADDRESS, STUDY_PORT = "127.0.0.1", "8080"


@dataclass(frozen=True)
class Rounds:
    """The engine's ramp (spec/README.md): each round adds `add` connections, and all send `requests`."""

    rounds: int
    add: int
    requests: int
    heartbeat_ns: int
    connect_timeout_ns: int
    quiet_ns: int
    nearly_all: float
    stuck_ns: int
    allowed_lost_share: float

    @property
    def connections(self) -> int:
        return self.rounds * self.add

    @property
    def total_requests(self) -> int:
        """Of all rounds: each brings `add` × `requests` more than the one before."""
        return self.add * self.requests * self.rounds * (self.rounds + 1) // 2

    def arguments(self) -> list[str]:
        """For `feedbench-engine ramp URL`."""
        return [
            f"--rounds={self.rounds}",
            f"--add={self.add}",
            f"--requests={self.requests}",
            f"--heartbeat={self.heartbeat_ns}ns",
            f"--connect-timeout={self.connect_timeout_ns}ns",
            f"--quiet={self.quiet_ns}ns",
            f"--nearly-all={self.nearly_all}",
            f"--stuck={self.stuck_ns}ns",
            f"--allowed-lost-share={self.allowed_lost_share}",
        ]


@dataclass(frozen=True)
class Campaign:
    """`elsewhere` is the URL of a server that is not ours to start; then it is the only one measured."""

    name: str
    title: str
    question: str
    analysis: str
    targets: tuple[str, ...]
    repeats: int
    seed: int
    rounds: Rounds
    elsewhere: str | None = None

    @property
    def in_words(self) -> str:
        """What is done, for people."""
        rounds = self.rounds
        repeats = "One repeat." if self.repeats == 1 else f"{self.repeats} repeats, averaged."
        return (
            f"{rounds.rounds} rounds, each adding {rounds.add} connections; every connection sends "
            f"{rounds.requests} requests a round at once: {rounds.total_requests:,} requests in a whole "
            f"ramp. {repeats} A target breaks in the first round that loses more than "
            f"{rounds.allowed_lost_share:.0%} of its requests."
        )

    def order(self, repeat: int) -> list[str]:
        """The targets of one repeat, counted from 1: each repeat has an order of its own."""
        generator = random.Random(f"{self.seed}/{repeat}")
        return sorted(self.targets, key=lambda target: generator.random())

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self), "targets": list(self.targets)}


def read_campaign(path: Path) -> Campaign:
    """From TOML; ScenarioError names the line of a mistake."""
    document = TomlDocument.read(path, error=ScenarioError)
    document.check("ramp")
    content = document.content
    ramp = content["ramp"]
    return Campaign(
        name=content["name"],
        title=content["title"],
        question=content["question"],
        analysis=content["analysis"],
        targets=tuple(content["targets"]),
        repeats=content["repeats"],
        seed=content["seed"],
        rounds=Rounds(
            rounds=ramp["rounds"],
            add=ramp["add"],
            requests=ramp["requests"],
            heartbeat_ns=parse_duration(ramp["heartbeat"]),
            connect_timeout_ns=parse_duration(ramp["connect_timeout"]),
            quiet_ns=parse_duration(ramp["quiet"]),
            nearly_all=ramp["nearly_all"],
            stuck_ns=parse_duration(ramp["stuck"]),
            allowed_lost_share=ramp["allowed_lost_share"],
        ),
    )


def with_targets(campaign: Campaign, registry: Registry) -> Campaign:
    """The campaign with its globs resolved: to servers of stamps. ScenarioError when one matches nothing."""
    found: dict[str, None] = {}
    for pattern in campaign.targets:
        if not any(sign in pattern for sign in "*?["):
            found[pattern] = None
            continue
        matching = [target.name for target in registry.matching(pattern) if "stamp" in target.models]
        if not matching:
            raise ScenarioError(
                f'no server of stamps matches "{pattern}"', hint=nearest(pattern, registry.names())
            )
        found |= dict.fromkeys(matching)
    return replace(campaign, targets=tuple(found))


def campaign_from_json(path: Path) -> Campaign:
    """The campaign of a run directory's ramp.json."""
    document = read_json(path, needed_for="go on with the ramp")
    try:
        fields = {key: value for key, value in document.items() if key != "schema"}
        rounds = Rounds(**fields.pop("rounds"))
        return Campaign(**{**fields, "targets": tuple(fields["targets"]), "rounds": rounds})
    except (TypeError, KeyError, AttributeError) as error:
        raise FeedbenchError(f"this is no ramp that can be played: {error}", where=str(path)) from error


def with_environment(campaign: Campaign, environment: Mapping[str, str]) -> Campaign:
    """The campaign as the study's environment variables change it."""
    numbers = {
        field: _whole_number(variable, environment[variable])
        for variable, field in VARIABLES.items()
        if environment.get(variable)
    }
    changed = replace(campaign, rounds=replace(campaign.rounds, **numbers))
    if not environment.get(ADDRESS) and not environment.get(PORT):
        return changed
    address, port = environment.get(ADDRESS) or STUDY_ADDRESS, environment.get(PORT) or STUDY_PORT
    if not 0 < _whole_number(PORT, port) < 65536:
        raise FeedbenchError(f"{PORT} is {port}, which is no port")
    name = environment.get(LANGUAGE) or "elsewhere"
    return replace(changed, targets=(name,), elsewhere=f"ws://{address}:{port}/")


def _whole_number(variable: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise FeedbenchError(
            f'{variable} is "{text}", not a whole number from 1', hint="unset it, or mend it"
        )
    return int(text)
