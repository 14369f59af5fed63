"""What a client's record and the ledger come to: load.json in the engine's shape, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedbench.feed.measured import MeasuredFeed, Window
from feedbench.feed.settings import Feed
from feedbench.load import Load, pacer_to_json
from feedbench.paths import SCHEMA
from feedbench.protocol import Expect, Protocol
from feedbench.run.own_client import WARMUP_BIN_NS, summarise, warmup_bins
from feedbench.run.status import Outcome
from feedbench.samples import Records
from feedbench.target import Door


def window_of(protocol: Protocol, feed: Feed, clients: int) -> Window:
    """What of a market counts; in slices all clients warm up before the first is measured."""
    sliced = feed.design == "sliced" and protocol.slice_ns is not None
    return Window(
        warmup_ns=protocol.warmup_ns * (clients if sliced else 1),
        sliced=sliced,
        drop_ns=int(protocol.drop_first * (protocol.slice_ns or 0)),
    )


def base_document(name: str, load: Load) -> dict[str, Any]:
    """What load.json has for any client of an exchange: only what an engine knows is null."""
    return {
        "name": name,
        "verdict": "ok",
        "cause": None,
        "connections": 1,
        "transport": "feed client",
        "pacer": pacer_to_json(load.pacer),
        "payload": asdict(load.payload),
        "lost": 0,
        "duplicated": 0,
        "out_of_order": 0,
        "wrong": 0,
        "warmup": {"bin_ns": WARMUP_BIN_NS, "bins": []},
        # Whether a client and the exchange agreed on permessage-deflate is in no record.
        "options": {"deflate": None, "tls": load.feed is not None and load.feed.tls},
        "engine_stalls": None,
        "interrupted": False,
        "errors": [],
        "warnings": [],
    }


def load_document(
    found: MeasuredFeed,
    *,
    name: str,
    load: Load,
    protocol: Protocol,
    door: Door = "ws",
    lengths: NDArray[np.uint32] | None = None,
    is_compressed: bool = False,
    frame_bytes: float | None = None,
) -> dict[str, Any]:
    """load.json; `door` is the one through which the client listened, `lengths` are those of its messages.

    `latency_ns` is the age of events, `lateness_ns` what the exchange took from their birth to sending them.
    The message of a client that was cut off by the end is neither lost nor late: the market ends first.
    """
    measured, joined = found.measured, found.joined
    measured_ns = int(protocol.measure_ns * (1 - protocol.drop_first if found.sliced else 1))
    seconds = measured_ns / 1e9
    payload_bytes = int(joined.sent["bytes"].sum())
    return {
        "schema": SCHEMA,
        **base_document(name, load),
        "door": door,
        "measured_ns": measured_ns,
        "slices": found.slices,
        "sent": len(measured) + found.lost,
        "received": len(measured),
        "lost": found.lost,
        "duplicated": joined.duplicated,
        "out_of_order": joined.out_of_order,
        "wrong": joined.unknown,
        "replies": joined.replies,
        "sent_total": len(joined.messages),
        "received_total": len(joined.place),
        "lost_total": joined.lost,
        "round_trips_per_s": len(measured) / seconds,
        "bytes_per_s": payload_bytes / max(1, len(joined.place)) * len(measured) / seconds,
        **feed_summaries(measured),
        **byte_counts(door, lengths, is_compressed=is_compressed, frame_bytes=frame_bytes),
        "warmup": {"bin_ns": WARMUP_BIN_NS, "bins": warmup_bins(found.warm)},
    }


def byte_counts(
    door: Door, lengths: NDArray[np.uint32] | None, *, is_compressed: bool, frame_bytes: float | None
) -> dict[str, float | None]:
    """Means over messages: as handed over, and with a server's frame header (RFC 6455, 5.2), where nothing is
    compressed; else the exchange says how long a frame was. A FIX message brings its own framing.
    """
    if lengths is None or len(lengths) == 0:
        return {"message_bytes": None, "wire_bytes": None}
    mean = float(lengths.mean())
    headers = np.select([lengths < 126, lengths < 65_536], [2, 4], default=10)
    framed = frame_bytes if is_compressed else mean + float(headers.mean())
    return {"message_bytes": mean, "wire_bytes": framed if door == "ws" else mean}


def feed_summaries(measured: Records) -> dict[str, Any]:
    """The age of events, its part since they were sent, and what the exchange took before that."""
    return {
        "latency_ns": summarise(_between(measured, "intended_ns", "received_ns")),
        "latency_from_send_ns": summarise(_between(measured, "sent_ns", "received_ns")),
        "lateness_ns": summarise(_between(measured, "intended_ns", "sent_ns")),
    }


def judge_feed(found: MeasuredFeed, expect: Expect) -> Outcome:
    """Complete is what had all that was sent, warm-up included, once and in order, and nothing else."""
    joined = found.joined
    counts: Mapping[str, int] = {
        "lost": joined.lost,
        "duplicated": joined.duplicated,
        "out_of_order": joined.out_of_order,
        "wrong": joined.unknown,
    }
    broken = [
        f"{counts[name]:,} messages {name.replace('_', ' ')} ({limit} allowed)"
        for name, limit in asdict(expect).items()
        if counts[name] > limit
    ]
    if broken:
        return Outcome("failed", f"of {len(joined.messages):,} sent, " + ", ".join(broken))
    if not len(found.measured):
        return Outcome("failed", "not one message came in the measured part")
    early = int(np.count_nonzero(_between(found.measured, "sent_ns", "received_ns") < 0))
    if early:
        return Outcome(
            "failed",
            f"{early:,} of {len(found.measured):,} messages are stamped before they were sent: "
            "the clock was read before the receive call",
        )
    return Outcome("ok")


def _between(records: Records, first: str, last: str) -> NDArray[np.int64]:
    """Signed, since a clock that is read too early shows a message before it was sent."""
    difference: NDArray[np.int64] = records[last].astype(np.int64) - records[first].astype(np.int64)
    return difference
