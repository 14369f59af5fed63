"""Which host does what: pure, from what each host offers and what the plan needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from feedbench.errors import ClusterError, TooFewHostsError
from feedbench.host.pinning import Pinning, choose_pinning

Offer = Literal["load", "exchange", "target"]
OFFERS: tuple[Offer, ...] = get_args(Offer)


@dataclass(frozen=True)
class OfferingHost:
    """A host by its worker's name, and the address at which its targets listen."""

    name: str
    address: str
    offers: tuple[Offer, ...]
    cpus: tuple[int, ...] = ()

    @property
    def pinning(self) -> Pinning:
        """Targets on the first of its CPUs; the engine on the second, where the host may do both."""
        if "target" in self.offers and "load" in self.offers:
            return choose_pinning(set(self.cpus))
        first = tuple(sorted(self.cpus)[:1])
        return Pinning(targets=first, engine=first)


@dataclass(frozen=True)
class Assignment:
    """One host for all targets, since they are compared; the load comes from one host or several."""

    target: OfferingHost
    loads: tuple[OfferingHost, ...]

    @property
    def hosts(self) -> tuple[OfferingHost, ...]:
        return tuple({host.name: host for host in (self.target, *self.loads)}.values())


def parse_offers(text: str) -> tuple[Offer, ...]:
    """Of `load,target`; ClusterError names what can't be offered."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in OFFERS:
            raise ClusterError(
                f'a host can\'t offer "{word}"', where="--offers", hint=f"one or more of {', '.join(OFFERS)}"
            )
    if not words:
        raise ClusterError("it offers nothing", where="--offers", hint=f"one or more of {', '.join(OFFERS)}")
    return tuple(offer for offer in OFFERS if offer in words)


def assign(
    hosts: Sequence[OfferingHost], *, apart: bool, agents: int = 1, preferred: Collection[str] = ()
) -> Assignment:
    """Chooses by name, so that the same hosts give the same plan; `preferred` names come first.

    `apart` keeps the load off the targets' host. Otherwise one host does both if it can, as on one machine.
    ClusterError says what is lacking.
    """
    ordered = sorted(hosts, key=lambda host: (host.name not in preferred, host.name))
    targets = [host for host in ordered if "target" in host.offers]
    loads = [host for host in ordered if "load" in host.offers]
    for what, able in (("target", targets), ("load", loads)):
        if not able:
            raise TooFewHostsError(
                f"no host offers {what}", where=_told(ordered), hint=f"feedbench worker … --offers {what}"
            )
    if not apart and agents == 1:
        for target in targets:
            if target in loads:
                return Assignment(target, (target,))
    for target in targets:
        others = [host for host in loads if host.name != target.name]
        able = others if apart or len(others) >= agents else [*others, *(x for x in loads if x == target)]
        if len(able) >= agents:
            return Assignment(target, tuple(able[:agents]))
    wanted = "the load on another host than the targets" if agents == 1 else f"load from {agents} hosts"
    away = ", apart from the targets'" if apart and agents > 1 else ""
    raise TooFewHostsError(
        f"the scenario wants {wanted}{away}, and there are not enough",
        where=_told(ordered),
        hint="start feedbench worker … --offers load on another host",
    )


def _told(hosts: Sequence[OfferingHost]) -> str:
    if not hosts:
        return "no host takes part"
    return "; ".join(f"{host.name} offers {', '.join(host.offers)}" for host in hosts)
