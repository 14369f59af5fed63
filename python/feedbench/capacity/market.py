"""What feed clients and relays are searched on: one market of a scenario, with more and more load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from feedbench.builder import build_targets
from feedbench.capacity.feed_probe import FeedExperiment
from feedbench.capacity.probe import Limit
from feedbench.capacity.search import Capacity, find_capacity
from feedbench.errors import ScenarioError, TargetError
from feedbench.feed.settings import Feed
from feedbench.paths import Project
from feedbench.registry import Registry, discover
from feedbench.scenario import Scenario, read_scenario
from feedbench.target import Target


@dataclass(frozen=True)
class MarketSearch:
    """What holds for each of the targets. `most`, in events per second or subscribers, is the most tried."""

    scenario: Scenario
    limit: Limit
    measure_ns: int
    most: int
    precision: float
    repeats: int


@dataclass(frozen=True)
class MarketCapacity:
    """A target's greatest load within the limit, in events per second of the market or in subscribers;
    `trouble` when there is none.

    `messages_per_s` is what a feed client's was in messages. `exchange_was_late`: beyond it the exchange was
    not in time, so the target may take more.
    """

    target: str
    found: Capacity | None
    messages_per_s: float | None = None
    exchange_was_late: bool = False
    trouble: str | None = None

    def document(self) -> dict[str, Any]:
        """As `feedbench capacity --json` prints it."""
        counts = {} if self.found is None else asdict(self.found)
        rate = {} if self.messages_per_s is None else {"messages_per_s": self.messages_per_s}
        return {**counts, **rate, "exchange_was_late": self.exchange_was_late, "trouble": self.trouble}


def read_market(path: Path, project: Project, registry: Registry) -> Scenario:
    """A feed scenario that describes one market: one exchange, and nothing varied."""
    scenario = read_scenario(path, registry=registry, root=project.root)
    if scenario.feed is None:
        raise ScenarioError("it has no [feed]", where=str(path), hint="a breaking rate is a feed client's")
    if scenario.factors:
        raise ScenarioError(
            f"{', '.join(scenario.factors)} would be varied",
            where=str(path),
            hint="the search varies the load alone",
        )
    return scenario


def market(scenario: Scenario) -> Feed:
    """What its exchange sends, to one client that has it for itself."""
    assert scenario.feed is not None, "read_market has seen to it"
    exchange = scenario.feed["exchanges"][0]
    return Feed.from_settings({**scenario.feed, "design": "parallel"}, exchange)


def search_each(
    names: tuple[str, ...],
    search_one: Callable[[Target], MarketCapacity],
    *,
    project: Project,
    told: Callable[[str], None],
) -> Iterator[MarketCapacity]:
    """One after the other. A target that can't be built or started costs only its own answer."""
    registry = discover(project)
    targets = [registry.get(name) for name in names]
    for target, receipt in zip(
        targets, build_targets(targets, registry, project=project, say=told), strict=True
    ):
        if receipt.state != "built":
            yield MarketCapacity(target.name, None, trouble=receipt.reason or receipt.state)
            continue
        try:
            yield search_one(target)
        except TargetError as error:
            yield MarketCapacity(target.name, None, trouble=str(error))


def search_load(
    search: MarketSearch,
    name: str,
    measure: Callable[[int], Any],
    *,
    unit: str,
    least: int,
    told: Callable[[str], None],
) -> tuple[Capacity, FeedExperiment]:
    """By what `measure` gives for a load, which is all that this knows of the world."""
    experiment = FeedExperiment(measure, search.limit)

    def holds(load: int) -> bool:
        held = experiment.holds(load)
        cause = experiment.results[load][-1]["cause"]
        told(f"{name}, {load} {unit}: {'in time' if held else cause or 'late'}")
        return held

    found = find_capacity(
        holds, least=least, most=search.most, precision=search.precision, repeats=search.repeats
    )
    return found, experiment
