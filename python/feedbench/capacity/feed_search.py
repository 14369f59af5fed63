"""The breaking rates of feed clients: the search, client by client, on the market of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from feedbench.builder import build_targets
from feedbench.capacity.feed_probe import FeedExperiment, FeedProbe, least_rate
from feedbench.capacity.probe import Limit
from feedbench.capacity.search import Capacity, find_capacity
from feedbench.errors import FeedbenchError, ScenarioError, TargetError
from feedbench.feed.settings import Feed
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.registry import Registry, discover
from feedbench.scenario import Scenario, read_scenario


@dataclass(frozen=True)
class FeedSearch:
    """What holds for each of the clients. `rate_most`: nothing above is tried."""

    scenario: Scenario
    limit: Limit
    measure_ns: int
    rate_most: int
    precision: float
    repeats: int


@dataclass(frozen=True)
class BreakingRate:
    """A client's highest rate within the limit, in events per second of the market; `trouble` when there is
    none.

    `messages_per_s` is what it was in messages. `exchange_was_late`: beyond it the exchange was not in time,
    so the client may take more.
    """

    target: str
    found: Capacity | None
    messages_per_s: float = 0.0
    exchange_was_late: bool = False
    trouble: str | None = None

    def document(self) -> dict[str, Any]:
        """As `feedbench capacity --of feed-rate --json` prints it."""
        counts = {} if self.found is None else asdict(self.found)
        return {
            **counts,
            "messages_per_s": self.messages_per_s,
            "exchange_was_late": self.exchange_was_late,
            "trouble": self.trouble,
        }


def read_market(path: Path, project: Project, registry: Registry) -> Scenario:
    """A feed scenario that describes one market: one exchange, and nothing varied."""
    scenario = read_scenario(path, registry=registry, root=project.root)
    if scenario.feed is None:
        raise ScenarioError("it has no [feed]", where=str(path), hint="a breaking rate is a feed client's")
    if scenario.factors:
        raise ScenarioError(
            f"{', '.join(scenario.factors)} would be varied",
            where=str(path),
            hint="the search varies the rate alone",
        )
    return scenario


def search_all(
    search: FeedSearch, names: tuple[str, ...], *, project: Project, told: Callable[[str], None]
) -> Iterator[BreakingRate]:
    """One after the other. A client that can't be built or started costs only its own answer."""
    registry = discover(project)
    targets = [registry.get(name) for name in names]
    for target, receipt in zip(
        targets, build_targets(targets, registry, project=project, say=told), strict=True
    ):
        if receipt.state != "built":
            yield BreakingRate(target.name, None, trouble=receipt.reason or receipt.state)
            continue
        probe = FeedProbe(
            project=project,
            target=target,
            feed=market(search.scenario),
            warmup_ns=search.scenario.protocol.warmup_ns,
            measure_ns=search.measure_ns,
            knobs=search.scenario.knobs,
            pinning=choose_pinning(wanted=search.scenario.protocol.pin),
        )
        try:
            yield search_one(search, target.name, probe.measure, told=told)
        except TargetError as error:
            yield BreakingRate(target.name, None, trouble=str(error))


def search_one(
    search: FeedSearch, name: str, measure: Callable[[int], Any], *, told: Callable[[str], None]
) -> BreakingRate:
    """By what `measure` gives for a rate, which is all that this knows of the world."""
    measure_s = search.measure_ns / 1e9
    experiment = FeedExperiment(measure, search.limit)

    def holds(rate_per_s: int) -> bool:
        held = experiment.holds(rate_per_s)
        cause = experiment.results[rate_per_s][-1]["cause"]
        told(f"{name}, {rate_per_s} events/s: {'in time' if held else cause or 'late'}")
        return held

    least = least_rate(search.limit, measure_s)
    if least > search.rate_most:
        raise FeedbenchError(
            f"{search.limit.quantile} needs at least {least} events/s", hint="measure longer: --duration"
        )
    found = find_capacity(
        holds, least=least, most=search.rate_most, precision=search.precision, repeats=search.repeats
    )
    return BreakingRate(
        name,
        found,
        messages_per_s=experiment.messages_per_s(found.value, measure_s),
        exchange_was_late=experiment.exchange_was_late(found.value),
    )


def market(scenario: Scenario) -> Feed:
    """What its exchange sends, to one client that has it for itself."""
    assert scenario.feed is not None, "read_market has seen to it"
    exchange = scenario.feed["exchanges"][0]
    return Feed.from_settings({**scenario.feed, "design": "parallel"}, exchange)
