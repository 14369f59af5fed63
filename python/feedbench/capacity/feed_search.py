"""The breaking rates of feed clients, client by client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from feedbench.capacity.feed_probe import FeedProbe, least_rate
from feedbench.capacity.market import MarketCapacity, MarketSearch, market, search_each, search_load
from feedbench.errors import FeedbenchError
from feedbench.host.pinning import choose_pinning
from feedbench.paths import Project
from feedbench.target import Target


def search_feed_clients(
    search: MarketSearch, names: tuple[str, ...], *, project: Project, told: Callable[[str], None]
) -> Iterator[MarketCapacity]:
    """The highest rate of each that it follows within the limit."""

    def search_one(target: Target) -> MarketCapacity:
        probe = FeedProbe(
            project=project,
            target=target,
            feed=market(search.scenario),
            warmup_ns=search.scenario.protocol.warmup_ns,
            measure_ns=search.measure_ns,
            knobs=search.scenario.knobs,
            pinning=choose_pinning(wanted=search.scenario.protocol.pin),
        )
        return search_rate(search, target.name, probe.measure, told=told)

    return search_each(names, search_one, project=project, told=told)


def search_rate(
    search: MarketSearch, name: str, measure: Callable[[int], Any], *, told: Callable[[str], None]
) -> MarketCapacity:
    """One client's, by what `measure` gives for a rate."""
    measure_s = search.measure_ns / 1e9
    least = least_rate(search.limit, measure_s)
    if least > search.most:
        raise FeedbenchError(
            f"{search.limit.quantile} needs at least {least} events/s", hint="measure longer: --duration"
        )
    found, experiment = search_load(search, name, measure, unit="events/s", least=least, told=told)
    return MarketCapacity(
        name,
        found,
        messages_per_s=experiment.messages_per_s(found.value, measure_s),
        exchange_was_late=experiment.exchange_was_late(found.value),
    )
