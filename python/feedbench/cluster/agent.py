"""The Dask actor through which a controller reaches a station.

An actor's calls run one after the other, in one thread of the worker that lasts as long as the worker: so a
station needs no locks between calls, and what it starts is not killed with a thread that ends.
"""

from __future__ import annotations

from typing import Any

from feedbench.cluster.station import Built, Look, Sheet, Station
from feedbench.errors import ClusterError

STATION = "feedbench_station"  # the worker's attribute that holds it

# What a controller may ask for.
CALLS = frozenset(
    {
        "begin_observing",
        "cause_of_death",
        "ceiling",
        "end_observing",
        "finish_load",
        "interrupt_load",
        "look",
        "reading",
        "rss_bytes",
        "start",
        "start_load",
        "stop",
        "verify",
    }
)


class Agent:
    """Made on the worker, for one run."""

    def __init__(self, token: str) -> None:
        from distributed.worker import get_worker

        station: Station | None = getattr(get_worker(), STATION, None)
        if station is None:
            raise ClusterError("this Dask worker was not started by feedbench worker")
        self._station = station
        self._token = token

    def sheet(self) -> Sheet:
        """See Station.sheet; for anybody."""
        return self._station.sheet()

    def look(self) -> Look:
        """See Station.look; for anybody."""
        return self._station.look()

    def built(self, names: tuple[str, ...]) -> dict[str, Built]:
        """See Station.built; for anybody."""
        return self._station.built(names)

    def hold(self) -> None:
        """See Station.hold."""
        self._station.hold(self._token)

    def let_go(self) -> None:
        """See Station.let_go."""
        self._station.let_go(self._token)

    def call(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """One of CALLS, for the run that holds the station."""
        if name not in CALLS:
            raise ClusterError(f"a station does not do {name}")
        with self._station.calling(self._token):
            return getattr(self._station, name)(*arguments, **options)
