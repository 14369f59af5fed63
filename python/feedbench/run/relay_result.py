"""What a relay's cell came to: load.json with a part of its own, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feedbench.feed.join import Joined
from feedbench.feed.relay import Relay
from feedbench.feed.relay_measured import MeasuredRelay, entrance_age_ns, inside_ns, skew_ns, wait_ns
from feedbench.load import Load, pacer_to_json
from feedbench.paths import SCHEMA
from feedbench.protocol import Expect, Protocol
from feedbench.run.own_client import WARMUP_BIN_NS, summarise, warmup_bins
from feedbench.run.relay_faults import slow_consumer, storm, upstream_loss
from feedbench.run.resources import TreeReading
from feedbench.run.status import Outcome


@dataclass(frozen=True)
class Spent:
    """A process read twice: when all were connected and the market was about to open, and at its end."""

    before: TreeReading
    after: TreeReading

    def document(self) -> dict[str, int | None]:
        wall_ns = self.after.at_ns - self.before.at_ns
        known = self.after.processes > 0
        return {
            "cpu_ns": self.after.cpu_ns - self.before.cpu_ns if known else None,
            "wall_ns": wall_ns if known else None,
            "rss_bytes": self.after.rss_bytes if known else None,
        }


@dataclass(frozen=True)
class Around:
    """What was seen beside the messages. `said`: the subscribers' own summary; `listening_rss_bytes`: of the
    relay before anybody had subscribed; `witness`: what one subscriber of the exchange itself had.
    """

    relay: Spent
    subscribers: Spent
    exchange: Spent
    listening_rss_bytes: int
    said: Mapping[str, Any]
    witness: Joined


def relay_load_document(
    found: MeasuredRelay, around: Around, *, name: str, load: Load, protocol: Protocol
) -> dict[str, Any]:
    """load.json. `latency_ns` is the age of an event at a client, over all clients that read."""
    assert load.feed is not None
    assert load.feed.relay is not None
    measured = found.measured
    sliced = load.feed.design == "sliced"
    measured_ns = int(protocol.measure_ns * (1 - protocol.drop_first if sliced else 1))
    seconds = measured_ns / 1e9
    received_total = len(measured) + len(found.warm)
    payload_bytes = float(found.messages["bytes"].mean()) if len(found.messages) else 0.0
    flaws = flaws_of(found)
    return {
        "schema": SCHEMA,
        "name": name,
        "verdict": "ok",
        "cause": None,
        "connections": load.feed.relay.clients,
        "transport": "relay",
        "pacer": pacer_to_json(load.pacer),
        "payload": asdict(load.payload),
        "measured_ns": measured_ns,
        "slices": found.slices,
        "sent": len(measured) + found.lost,
        "received": len(measured),
        "lost": found.lost,
        "duplicated": flaws["duplicated"],
        "out_of_order": flaws["out_of_order"],
        "wrong": flaws["wrong"],
        "replies": sum(course.joined.replies for course in found.readers),
        "sent_total": received_total + found.lost_total,
        "received_total": received_total,
        "lost_total": found.lost_total,
        "round_trips_per_s": len(measured) / seconds,
        "bytes_per_s": payload_bytes * len(measured) / seconds,
        "latency_ns": summarise(_between(measured, "intended_ns", "received_ns")),
        "latency_from_send_ns": summarise(_between(measured, "sent_ns", "received_ns")),
        "lateness_ns": summarise(_between(measured, "intended_ns", "sent_ns")),
        "warmup": {"bin_ns": WARMUP_BIN_NS, "bins": warmup_bins(found.warm)},
        "options": {"deflate": None, "tls": load.feed.tls},
        "engine_stalls": None,
        "interrupted": False,
        "errors": list(around.said.get("errors", ())),
        "warnings": [],
        "relay": relay_document(found, around, load.feed.relay),
    }


def relay_document(found: MeasuredRelay, around: Around, relay: Relay) -> dict[str, Any]:
    """What there is of a relay alone. Hops: birth to entrance, entrance to client; `direct`: without it."""
    clients = relay.clients
    subscribed = around.relay.before.rss_bytes - around.listening_rss_bytes
    direct = around.witness
    growth = around.relay.after.rss_bytes - around.relay.before.rss_bytes
    document: dict[str, Any] = {
        "clients": clients,
        "upstream": relay.upstream,
        "fault": relay.fault,
        "entrance_age_ns": summarise(entrance_age_ns(found)),
        "inside_ns": summarise(inside_ns(found)),
        "direct_age_ns": summarise(
            direct.received_ns.astype(np.int64) - direct.sent["born_ns"].astype(np.int64)
        ),
        "skew_ns": summarise(skew_ns(found)),
        "wait_ns": summarise(wait_ns(found)),
        "away": found.away,
        # One client's memory drowns in what a first connection makes a runtime load.
        "memory_per_subscriber_bytes": max(0, subscribed) // clients if clients >= 8 else None,
        "processes": {
            "relay": around.relay.document(),
            "subscribers": around.subscribers.document(),
            "exchange": around.exchange.document(),
        },
    }
    if relay.fault == "slow-consumer":
        document["slow_consumer"] = slow_consumer(found, memory_growth_bytes=growth)
    elif relay.fault == "storm":
        document["storm"] = storm(around.said)
    elif relay.fault == "upstream-loss":
        document["upstream_loss"] = upstream_loss(found)
    return document


def flaws_of(found: MeasuredRelay) -> dict[str, int]:
    """Over all readers, in the whole run."""
    joined = [course.joined for course in found.readers]
    return {
        "lost": found.lost_total,
        "duplicated": sum(one.duplicated for one in joined),
        "out_of_order": sum(one.out_of_order for one in joined),
        "wrong": sum(one.unknown for one in joined),
    }


def judge_relay(found: MeasuredRelay, expect: Expect) -> Outcome:
    """A relay is right when its readers had all that they should have had, once and in order."""
    flaws = flaws_of(found)
    broken = [
        f"{flaws[name]:,} messages {name.replace('_', ' ')} ({limit} allowed)"
        for name, limit in asdict(expect).items()
        if flaws[name] > limit
    ]
    if broken:
        clients = len(found.readers)
        told = f"of {len(found.messages):,} to each of {clients:,} clients, " if clients > 1 else ""
        return Outcome("failed", told + ", ".join(broken))
    if not len(found.measured):
        return Outcome("failed", "not one message came in the measured part")
    return Outcome("ok")


def _between(records: Any, first: str, last: str) -> Any:
    return records[last].astype(np.int64) - records[first].astype(np.int64)
