"""How many subscribers relays feed in time: the search, relay by relay, on the market of a scenario."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from feedbench.builder import build_targets
from feedbench.capacity.feed_probe import FeedExperiment, least_rate
from feedbench.capacity.feed_search import FeedSearch, market
from feedbench.capacity.relay_probe import RelayProbe
from feedbench.capacity.search import Capacity, find_capacity
from feedbench.errors import FeedbenchError, TargetError
from feedbench.feed.relay import RELAY_DEFAULTS, UPSTREAM_KNOB, Relay
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.registry import discover

USUAL_MOST = 10_000
DESCRIPTORS_BESIDES = 100  # a relay's and the engine's own: libraries, logs, pipes


@dataclass(frozen=True)
class FedSubscribers:
    """A relay's largest number of clients within the limit; `trouble` when there is none.

    `exchange_was_late`: beyond it the exchange was not in time, so the relay may feed more.
    """

    target: str
    found: Capacity | None
    exchange_was_late: bool = False
    trouble: str | None = None

    def document(self) -> dict[str, Any]:
        """As `feedbench capacity --of subscribers --json` prints it."""
        counts = {} if self.found is None else asdict(self.found)
        return {**counts, "exchange_was_late": self.exchange_was_late, "trouble": self.trouble}


def most_subscribers() -> int:
    """What is tried at most unless told: each takes a descriptor of the engine's and one of the relay's."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(USUAL_MOST, soft - DESCRIPTORS_BESIDES))


def search_relays(
    search: FeedSearch, names: tuple[str, ...], *, project: Project, told: Callable[[str], None]
) -> Iterator[FedSubscribers]:
    """One after the other. A relay that can't be built or started costs only its own answer."""
    registry = discover(project)
    targets = [registry.get(name) for name in names]
    relay = Relay.from_settings({**RELAY_DEFAULTS, **(search.scenario.relay or {})})
    for target, receipt in zip(
        targets, build_targets(targets, registry, project=project, say=told), strict=True
    ):
        if receipt.state != "built":
            yield FedSubscribers(target.name, None, trouble=receipt.reason or receipt.state)
            continue
        if not target.takes("upstream", UPSTREAM_KNOB[relay.upstream]):
            yield FedSubscribers(target.name, None, trouble=f'it takes no upstream = "{relay.upstream}"')
            continue
        probe = RelayProbe(
            project=project,
            target=target,
            feed=market(search.scenario),
            upstream=relay.upstream,
            warmup_ns=search.scenario.protocol.warmup_ns,
            measure_ns=search.measure_ns,
            knobs=search.scenario.knobs,
            pinning=choose_pinning(wanted=search.scenario.protocol.pin),
        )
        try:
            yield search_subscribers(search, target.name, probe.measure, told=told)
        except TargetError as error:
            yield FedSubscribers(target.name, None, trouble=str(error))


def search_subscribers(
    search: FeedSearch, name: str, measure: Callable[[int], Any], *, told: Callable[[str], None]
) -> FedSubscribers:
    """By what `measure` gives for a number of clients, which is all that this knows of the world.

    `search.rate_most` is of clients here.
    """
    experiment = FeedExperiment(measure, search.limit)

    def holds(clients: int) -> bool:
        held = experiment.holds(clients)
        cause = experiment.results[clients][-1]["cause"]
        told(f"{name}, {clients} subscribers: {'in time' if held else cause or 'late'}")
        return held

    per_client = market(search.scenario).rate_per_s
    least = max(1, math.ceil(least_rate(search.limit, search.measure_ns / 1e9) / per_client))
    if least > search.rate_most:
        raise FeedbenchError(
            f"{search.limit.quantile} needs the messages of {least} subscribers",
            hint="measure longer: --duration",
        )
    found = find_capacity(
        holds, least=least, most=search.rate_most, precision=search.precision, repeats=search.repeats
    )
    return FedSubscribers(name, found, exchange_was_late=experiment.exchange_was_late(found.value))
