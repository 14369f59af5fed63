"""How many subscribers relays feed in time, relay by relay."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable, Iterator
from typing import Any

from feedbench.capacity.feed_probe import least_rate
from feedbench.capacity.market import MarketCapacity, MarketSearch, market, search_each, search_load
from feedbench.capacity.relay_probe import RelayProbe
from feedbench.errors import FeedbenchError
from feedbench.feed.relay import RELAY_DEFAULTS, UPSTREAM_KNOB, Relay
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.target import Target

USUAL_MOST = 10_000
DESCRIPTORS_BESIDES = 100  # a relay's and the engine's own: libraries, logs, pipes


def most_subscribers() -> int:
    """What is tried at most unless told: each takes a descriptor of the engine's and one of the relay's."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(USUAL_MOST, soft - DESCRIPTORS_BESIDES))


def search_relays(
    search: MarketSearch, names: tuple[str, ...], *, project: Project, told: Callable[[str], None]
) -> Iterator[MarketCapacity]:
    """The largest number of clients of each that it feeds within the limit."""
    relay = Relay.from_settings({**RELAY_DEFAULTS, **(search.scenario.relay or {})})

    def search_one(target: Target) -> MarketCapacity:
        if not target.takes("upstream", UPSTREAM_KNOB[relay.upstream]):
            return MarketCapacity(target.name, None, trouble=f'it takes no upstream = "{relay.upstream}"')
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
        return search_subscribers(search, target.name, probe.measure, told=told)

    return search_each(names, search_one, project=project, told=told)


def search_subscribers(
    search: MarketSearch, name: str, measure: Callable[[int], Any], *, told: Callable[[str], None]
) -> MarketCapacity:
    """One relay's, by what `measure` gives for a number of clients."""
    per_client = market(search.scenario).rate_per_s
    least = max(1, math.ceil(least_rate(search.limit, search.measure_ns / 1e9) / per_client))
    if least > search.most:
        raise FeedbenchError(
            f"{search.limit.quantile} needs the messages of {least} subscribers",
            hint="measure longer: --duration",
        )
    found, experiment = search_load(search, name, measure, unit="subscribers", least=least, told=told)
    return MarketCapacity(name, found, exchange_was_late=experiment.exchange_was_late(found.value))
