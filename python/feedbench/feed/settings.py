"""What an exchange sends its subscribers in one condition of a feed campaign, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from feedbench.feed.relay import Relay
from feedbench.network_path import NO_PATH, PathShape
from feedbench.target import Door
from feedbench.units import parse_duration

Design = Literal["sliced", "parallel", "in-turn"]

# The keys of a scenario's [feed] that can be varied, and so the names of a feed campaign's factors; what an
# exchange of [[feed.exchanges]] says of itself goes before them.
FEED_DEFAULTS: Mapping[str, Any] = {
    "design": "sliced",
    "rate": 1000,
    "arrivals": "poisson",
    "branching_ratio": 0.6,
    "symbols": 1,
    "tls": False,
    "compression": "off",
    "poll_interval": "20ms",
    "network": NO_PATH,
}
EXCHANGE_FACTOR = "exchange"
# How messages are decoded, and the knob of those who can do it otherwise.
JSON, DECODER = "json", "decoder"


@dataclass(frozen=True)
class Feed:
    """Each door that is open has an address: `path` is the WebSocket handshake's path and query, `subscribe`
    are the messages sent after it; `fix` is the stream of a FIX client, `rest` the path and query of a
    question, whose answer has the number of the newest event under the key `newest`. `decoder` is how a
    WebSocket client that decodes its messages is to do it.

    `rate_per_s` counts events of the market over all its symbols, not messages. `faults` are the exchange's
    own notation. `sliced`: one subscriber at a time, in random order; `parallel`: all subscribers get each
    message at the same time; `in-turn`: each relay has the exchange for itself. `compression` is what the
    exchange makes of an offer of permessage-deflate. `relay`: how relays stand between the exchange and who
    follows it. `network` is what lies between exchange and clients, as a scenario says it.
    """

    exchange: str
    personality: str
    path: str | None
    subscribe: tuple[str, ...]
    design: Design
    rate_per_s: float
    arrivals: str
    branching_ratio: float
    symbols: int
    tls: bool
    faults: tuple[str, ...]
    fix: str | None = None
    rest: str | None = None
    newest: str | None = None
    decoder: str = JSON
    poll_interval_ns: int = 20_000_000
    compression: str = "off"
    relay: Relay | None = None
    network: str = NO_PATH

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], exchange: Mapping[str, Any], relay: Relay | None = None
    ) -> Feed:
        """From a scenario's [feed] with a condition's factors in it, and one of its exchanges."""
        return cls(
            exchange=exchange_name(exchange),
            personality=exchange["personality"],
            path=exchange.get("path"),
            subscribe=tuple(exchange.get("subscribe", ())),
            design=settings["design"],
            rate_per_s=settings["rate"],
            arrivals=settings["arrivals"],
            branching_ratio=settings["branching_ratio"],
            symbols=settings["symbols"],
            tls=settings["tls"],
            faults=tuple(settings["faults"]),
            fix=exchange.get("fix"),
            rest=exchange.get("rest"),
            newest=exchange.get("newest"),
            decoder=exchange.get("decoder", JSON),
            poll_interval_ns=parse_duration({**FEED_DEFAULTS, **settings}["poll_interval"]),
            compression={**FEED_DEFAULTS, **settings}["compression"],
            relay=relay,
            network={**FEED_DEFAULTS, **settings}["network"],
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Feed:
        lists = {name: tuple(document[name]) for name in ("subscribe", "faults")}
        relay = Relay(**document["relay"]) if "relay" in document else None
        return cls(**{**document, **lists, "relay": relay})

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        if self.relay is None:
            del document["relay"]
        return document

    @property
    def doors(self) -> Mapping[Door, str]:
        """What a client of each open door is to be told beside host and port."""
        streams: dict[Door, str | None] = {"ws": self.path, "fix": self.fix, "rest": self.rest}
        return {door: stream for door, stream in streams.items() if stream is not None}

    @property
    def path_shape(self) -> PathShape | None:
        """None where exchange and clients meet on loopback."""
        return PathShape.parse(self.network)

    def door_of(self, able: Sequence[Door]) -> Door | None:
        """The first of a target's doors that is open here."""
        return next((door for door in able if door in self.doors), None)

    def arguments(self) -> list[str]:
        """What `feedbench exchange` is told of the market."""
        told = ["--personality", self.personality, "--symbols", str(self.symbols)]
        told += ["--rate", str(self.rate_per_s), "--arrivals", self.arrivals]
        if self.arrivals == "hawkes":
            told += ["--branching-ratio", str(self.branching_ratio)]
        if self.fix is not None:
            told.append("--fix")
        if self.compression != "off":
            told.append(f"--deflate={self.compression}")
        for fault in self.faults:
            told += ["--fault", fault]
        return told


def exchange_name(exchange: Mapping[str, Any]) -> str:
    """What an entry of [[feed.exchanges]] is called: by default as it speaks."""
    return str(exchange.get("name", exchange["personality"]))


def open_doors(exchanges: Iterable[Mapping[str, Any]]) -> set[Door]:
    """Those that any of the entries of [[feed.exchanges]] gives an address for."""
    keys: dict[str, Door] = {"path": "ws", "fix": "fix", "rest": "rest"}
    return {door for exchange in exchanges for key, door in keys.items() if key in exchange}
