"""Lines as `feedbench-engine ramp --json` writes them."""

from __future__ import annotations

from typing import Any


def round_line(number: int, *, answered: int | None = None, ended: str = "answered") -> dict[str, Any]:
    """A round that adds 10 connections with 10 requests each; a millisecond for each connection."""
    wanted = 10 * number
    requests = 10 * wanted
    right = requests if answered is None else answered
    quantiles = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"))
    latency = quantiles | {"min": 1_000_000, "mean": 2_500_000.0, "p50": 2_000_000, "max": wanted * 1_000_000}
    return {
        "schema": 1,
        "kind": "round",
        "round": number,
        "wanted": wanted,
        "connected": wanted,
        "opened": 10,
        "renewed": 0,
        "failed_connects": 0,
        "connecting_ns": 3_000_000,
        "requests": requests,
        "sent": requests,
        "answered": right,
        "lost": requests - right,
        "lost_share": (requests - right) / requests,
        "elapsed_ns": wanted * 1_000_000,
        "answers_per_s": 10_000.0,
        "latency_ns": {"count": right, **(latency if right else quantiles)},
        "ended": ended,
    }


def end_line(rounds: int, *, stopped: str = "complete", broken: int | None = None) -> dict[str, Any]:
    place = {"round": broken, "connections": 10 * (broken or 0), "lost_share": 0.2, "cause": "planted"}
    return {
        "schema": 1,
        "kind": "end",
        "rounds": rounds,
        "stopped": stopped,
        "broken": place if broken else None,
        "connection_memory": {"idle_bytes": 395, "burst_bytes": 3300},
        "descriptors": {"before": 5, "most": 5, "after": 5, "leaked": 0},
    }
