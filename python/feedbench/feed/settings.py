"""What an exchange sends its subscribers in one condition of a feed campaign, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Design = Literal["sliced", "parallel"]

# The keys of a scenario's [feed] that can be varied, and so the names of a feed campaign's factors; what an
# exchange of [[feed.exchanges]] says of itself goes before them.
FEED_DEFAULTS: Mapping[str, Any] = {
    "design": "sliced",
    "rate": 1000,
    "arrivals": "poisson",
    "branching_ratio": 0.6,
    "symbols": 1,
    "tls": False,
}
EXCHANGE_FACTOR = "exchange"


@dataclass(frozen=True)
class Feed:
    """`path` is the handshake's path and query, `subscribe` are the messages sent after it.

    `rate_per_s` counts events of the market over all its symbols, not messages. `sliced`: one subscriber at a
    time, in random order; `parallel`: all subscribers get each message at the same time. `faults` are the
    exchange's own notation.
    """

    exchange: str
    personality: str
    path: str
    subscribe: tuple[str, ...]
    design: Design
    rate_per_s: float
    arrivals: str
    branching_ratio: float
    symbols: int
    tls: bool
    faults: tuple[str, ...]

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], exchange: Mapping[str, Any]) -> Feed:
        """From a scenario's [feed] with a condition's factors in it, and one of its exchanges."""
        return cls(
            exchange=exchange_name(exchange),
            personality=exchange["personality"],
            path=exchange["path"],
            subscribe=tuple(exchange.get("subscribe", ())),
            design=settings["design"],
            rate_per_s=settings["rate"],
            arrivals=settings["arrivals"],
            branching_ratio=settings["branching_ratio"],
            symbols=settings["symbols"],
            tls=settings["tls"],
            faults=tuple(settings["faults"]),
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Feed:
        lists = {name: tuple(document[name]) for name in ("subscribe", "faults")}
        return cls(**{**document, **lists})

    def arguments(self) -> list[str]:
        """What `feedbench exchange` is told of the market."""
        told = ["--personality", self.personality, "--symbols", str(self.symbols)]
        told += ["--rate", str(self.rate_per_s), "--arrivals", self.arrivals]
        if self.arrivals == "hawkes":
            told += ["--branching-ratio", str(self.branching_ratio)]
        for fault in self.faults:
            told += ["--fault", fault]
        return told


def exchange_name(exchange: Mapping[str, Any]) -> str:
    """What an entry of [[feed.exchanges]] is called: by default as it speaks."""
    return str(exchange.get("name", exchange["personality"]))
