"""How a relay is put to use in one condition of a campaign, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Upstream = Literal["one", "per-client"]
Fault = Literal["none", "slow-consumer", "storm", "upstream-loss"]

# The keys of a scenario's [relay] that can be varied, and so names of factors.
RELAY_DEFAULTS: Mapping[str, Any] = {"clients": 1, "upstream": "one", "fault": "none"}

# What FEEDBENCH_UPSTREAM calls the two.
UPSTREAM_KNOB: Mapping[str, str] = {"one": "shared", "per-client": "each"}


@dataclass(frozen=True)
class Relay:
    """`clients` subscribe to the relay; it has one connection to the exchange, or one for each of them."""

    clients: int
    upstream: Upstream
    fault: Fault

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Relay:
        return cls(**{name: settings[name] for name in RELAY_DEFAULTS})

    @property
    def connections(self) -> int:
        """To the exchange."""
        return 1 if self.upstream == "one" else self.clients

    @property
    def slow(self) -> int:
        """How many of its clients stop reading."""
        return 1 if self.fault == "slow-consumer" else 0
