"""A run directory made by hand from spec/README.md: no clock, no random number: golden files stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# target, median ns with one client, tier, rank interval, CPU ns per message, language and version
TARGETS: list[tuple[str, int, int, tuple[int, int], int, str, str]] = [
    ("c/floor", 27_400, 1, (1, 1), 6_100, "gcc 12.2.0", "1.0"),
    ("rust/fastwebsockets", 29_150, 2, (2, 3), 7_900, "rustc 1.85.0", "0.10.0"),
    ("go/gorilla", 29_800, 2, (2, 3), 11_400, "go 1.24.1", "1.5.3"),
    ("node/ws", 34_300, 3, (4, 5), 16_200, "v20.20.2", "8.23.0"),
    ("python/picows", 34_480, 3, (4, 5), 15_800, "Python 3.11.2", "1.12.1"),
    ("java/java-websocket", 41_900, 4, (6, 6), 22_700, "openjdk 21.0.2", "1.6.0"),
    ("python/tornado", 49_300, 5, (7, 7), 31_600, "Python 3.11.2", "6.5.1"),
    ("python/websockets", 66_800, 6, (8, 8), 47_900, "Python 3.11.2", "15.0.1"),
]
BLOCKS = 11
# What a target could call itself, if it meant harm.
PLANTED = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&"\''
CONDITIONS = [1, 32]


def _tail(share: float) -> float:
    """How much slower than the median the given share of round trips is: a smooth, heavy-tailed shape."""
    return 0.8 + 0.2 * (1 / (1 - share)) ** 0.32 if share > 0 else 0.9


def _wobble(block: int, position: int) -> float:
    """A fixed, harmless spread between blocks (at most ±1 %)."""
    return 1 + 0.01 * (((block * 7 + position * 3) % 11) - 5) / 5


def _cell(target: str, copy: str | None, clients: int, median: float, position: int) -> dict[str, Any]:
    name = target.replace("/", "-") + (f"~{copy}" if copy else "")
    median = median * clients * (0.62 if clients > 1 else 1)
    row = next(row for row in TARGETS if row[0] == target)
    rate = clients / (median * 1.08) * 1e9
    shares = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999]
    quantile = {f"p{share * 100:g}": round(median * _tail(share)) for share in shares[4:]}
    latency_ns = (
        {
            "count": round(rate) * BLOCKS,
            "min": round(median * 0.86),
            "mean": median * 1.08,
            "max": round(median * 40),
        }
        | {key: quantile[key] for key in ("p25", "p50", "p75", "p90", "p95", "p99", "p99.9")}
        | {"p99.99": None}
    )
    return {
        "cell": f"{name}+connections={clients}",
        "target": target,
        "copy": copy,
        "factors": {"connections": clients},
        "verdicts": {"ok": BLOCKS},
        "causes": [],
        "blocks": BLOCKS,
        "round_trips_per_s": {"value": rate, "interval": [rate * 0.985, rate * 1.015]},
        "latency_ns": latency_ns,
        "latency_from_send_ns": latency_ns,
        "per_block": [
            {
                "block": block,
                "p50": round(median * _wobble(block, position)),
                "p99": round(median * _tail(0.99) * _wobble(block, position + 4)),
                "round_trips_per_s": rate / _wobble(block, position),
            }
            for block in range(BLOCKS)
        ],
        "percentile_curve": [[share, round(median * _tail(share))] for share in shares[:-1]],
        "sent": round(rate) * BLOCKS,
        "received": round(rate) * BLOCKS,
        "lost": 0,
        "duplicated": 0,
        "out_of_order": 0,
        "wrong": 0,
        "cpu_ns_per_message": {"value": row[4], "interval": [row[4] * 0.97, row[4] * 1.03]},
        "memory_per_connection_bytes": None if clients == 1 else 9_000 + 4_100 * position,
        "rss_connected_bytes": 6_000_000 + 9_000_000 * position,
        "ceiling_share": min(0.99, 24_000 / median * clients * (0.62 if clients > 1 else 1)),
        "generator_bound": target == "c/floor" and clients > 1,
        "warmup_class": "warmup" if target in ("java/java-websocket", "node/ws") else "flat",
        "options": {"deflate": "off", "nodelay": "on", "threads": "1", "build_mode": "release"},
        "version": row[6],
        "toolchain": row[5],
    }


def _decision(first: int, second: int, quantile: str, clients: int) -> dict[str, Any]:
    a, b = TARGETS[first], TARGETS[second]
    ratio = a[1] / b[1]
    half = 0.004 if quantile == "p50" else 0.14
    interval = [ratio * (1 - half), ratio * (1 + half)]
    if quantile == "p50":
        decision = (
            "different" if a[2] != b[2] else ("equivalent" if (first, second) == (3, 4) else "undecided")
        )
    else:
        decision = "different" if interval[1] < 0.98 else "undecided"
    return {
        "pair": [a[0], b[0]],
        "cells": [f"{row[0].replace('/', '-')}+connections={clients}" for row in (a, b)],
        "quantile": quantile,
        "decision": decision,
        "ratio": ratio,
        "interval": interval,
        "p": 0.001,
        "p_holm": 0.028 if decision == "different" else 0.6,
        "margin": 0.01,
        "blocks": 10,
        "cliffs_delta": -0.7 if decision == "different" else -0.05,
    }


def _question(clients: int) -> dict[str, Any]:
    factor = clients * (0.62 if clients > 1 else 1)
    tie = {"decision": "equivalent", "ratio": 1.002, "interval": [0.998, 1.006], "p": 0.4, "p_holm": 0.4}
    tie |= {"margin": 0.01, "blocks": 10}
    found = {"decision": "different", "ratio": 1.186, "interval": [1.17, 1.2], "p": 0.001, "p_holm": 0.001}
    found |= {"margin": 0.01, "blocks": 10}
    return {
        "id": f"connections={clients}",
        "text": f"Which WebSocket server answers first with {clients} client{'s' if clients > 1 else ''}?",
        "fixed": {"connections": clients},
        "compare": "target",
        "quantity": "round_trip",
        "quantiles": ["p50", "p99"],
        "blocks_used": 10,
        "blocks_dropped": [{"block": 3, "gate": "steal_share", "value": 0.02, "limit": 0.005}],
        "ranking": [
            {
                "label": target,
                "target": target,
                "cell": f"{target.replace('/', '-')}+connections={clients}",
                "rank": list(rank),
                "tier": tier,
                "probability_first": 0.97 if tier == 1 else 0.0,
                "estimates": {
                    "p50": {
                        "value_ns": round(median * factor),
                        "interval_ns": [round(median * factor * 0.988), round(median * factor * 1.012)],
                    },
                    "p99": {
                        "value_ns": round(median * factor * _tail(0.99)),
                        "interval_ns": [
                            round(median * factor * _tail(0.99) * 0.86),
                            round(median * factor * _tail(0.99) * 1.19),
                        ],
                    },
                },
            }
            for target, median, tier, rank, *_ in TARGETS
        ],
        "ranking_withheld": None,
        "decisions": [
            _decision(first, second, quantile, clients)
            for quantile in ("p50", "p99")
            for first in range(len(TARGETS))
            for second in range(first + 1, len(TARGETS))
        ],
        "margin": {
            "p50": {"ratio": 0.01, "from": "margin_ratio"},
            "p99": {"ratio": 0.025, "from": "sentinel"},
        },
        "sentinel": {
            "passed": True,
            "pair": [f"node-ws+connections={clients}", f"node-ws~sentinel+connections={clients}"],
            "decisions": {"p50": tie, "p99": tie | {"decision": "undecided", "interval": [0.96, 1.05]}},
        },
        "control": {
            "passed": True,
            "pair": [f"c-floor+connections={clients}", f"c-floor~control+connections={clients}"],
            "delay_ns": 5000,
            "expected_ns": [5000, 5000],
            "found_ns": 5100,
            "interval_ns": [4900, 5300],
        }
        | found,
        "gates": [
            {
                "name": "lateness_p999_share",
                "passed": True,
                "blocks_failed": 0,
                "worst": 0.01,
                "limit": 0.1,
                "text": "The engine sent on time.",
            },
            {
                "name": "achieved_rate_share",
                "passed": True,
                "blocks_failed": 0,
                "worst": 0.0,
                "limit": 0.01,
                "text": "The rate asked for was reached.",
            },
            {
                "name": "steal_share",
                "passed": False,
                "blocks_failed": 1,
                "worst": 0.02,
                "limit": 0.005,
                "text": "The hypervisor took the CPU away in block 3.",
            },
            {
                "name": "run_delay_share",
                "passed": True,
                "blocks_failed": 0,
                "worst": 0.012,
                "limit": 0.05,
                "text": "Targets seldom waited for a CPU.",
            },
        ],
    }


def findings() -> dict[str, Any]:
    """Eight servers, one and 32 clients, one dropped block; sentinel and control as they should be."""
    cells = []
    for clients in CONDITIONS:
        for position, row in enumerate(TARGETS):
            cells.append(_cell(row[0], None, clients, row[1], position))
        cells.append(_cell("node/ws", "sentinel", clients, 34_370, 3))
        cells.append(_cell("c/floor", "control", clients, 32_500, 0))
    return {
        "schema": 1,
        "scenario": "quick",
        "title": "Which WebSocket server answers first?",
        "run": "20261121-1000-quick",
        "analysis": "One 108-byte binary message goes to an echo server and comes back.\n\n"
        "What this can't say: how the servers behave when they push, or over a network.",
        "questions": [_question(clients) for clients in CONDITIONS],
        "cells": cells,
        "impossible": [],
        "options_differences": [
            {
                "option": "threads",
                "values": {"1": [row[0] for row in TARGETS if row[0] != "go/gorilla"], "2": ["go/gorilla"]},
                "text": "go/gorilla runs on 2 threads, the others on 1.",
            }
        ],
        "targets": [
            {
                "target": row[0],
                "version": "1.0",
                "source_lines": 40 + position,
                "direct_dependencies": 1,
                "all_dependencies": None if row[0] == "c/floor" else 10 * position,
                "build_seconds": 1.25 * position,
                "start_up_ns": {"value": 5_000_000 * (position + 1), "interval": None},
                "start_rss_bytes": 2_000_000 * (position + 1),
            }
            for position, row in enumerate(TARGETS)
        ],
        "not_measured": [
            {"target": "csharp/fleck", "reason": "dotnet is not installed (Debian: apt-get install dotnet8)"}
        ],
        "advice": [
            {
                "code": "closed_loop",
                "severity": "caution",
                "text": "A closed loop waits while the server stalls: it can't see what others wait.",
            },
            {
                "code": "contended",
                "severity": "warning",
                "text": "Other work used the CPUs for 12 % of the time.",
            },
            {"code": "few_blocks", "severity": "note", "text": "10 blocks can't decide 28 pairs at p99."},
        ],
        "complete": True,
        "repeat": "feedbench run scenarios/quick.toml --seed 1",
    }


def hostile_findings() -> dict[str, Any]:
    """The sample with the planted text wherever a run can put words."""
    text = json.dumps(findings()).replace("python/picows", json.dumps(PLANTED)[1:-1])
    document: dict[str, Any] = json.loads(text)
    for name in ("title", "analysis", "run", "scenario", "repeat"):
        document[name] = PLANTED
    document["impossible"] = [{"cell": PLANTED, "check": PLANTED, "text": PLANTED}]
    document["not_measured"] = [{"target": PLANTED, "reason": PLANTED}]
    document["advice"].append({"code": PLANTED, "severity": "warning", "text": PLANTED})
    document["options_differences"] = [{"option": PLANTED, "values": {}, "text": PLANTED}]
    document["cells"][0].update(causes=[PLANTED], version=PLANTED, options={PLANTED: PLANTED})
    document["cells"][1].update(verdicts={PLANTED: 3}, toolchain=PLANTED)
    document["questions"][1].update(id=PLANTED, text=PLANTED, ranking=[], ranking_withheld=PLANTED)
    return document


def write_run(folder: Path, document: dict[str, Any] | None = None) -> Path:
    """A run directory at `folder` with `document` (or the whole sample) as its findings."""
    folder.mkdir(parents=True, exist_ok=True)
    host = {
        "schema": 1,
        "cpu": {"model": "AMD EPYC 9R14", "count": 2, "governor": None},
        "kernel": "6.18.44",
        "memory_bytes": 25_300_000_000,
        "congestion_control": "bbr",
        "advice": [],
    }
    plan = {
        "schema": 1,
        "scenario": "quick",
        "seed": 1,
        "compare": "target",
        "protocol": {
            "blocks": BLOCKS,
            "slice_ns": 25_000_000,
            "warmup_ns": 1_000_000_000,
            "measure_ns": 1_000_000_000,
            "drop_first": 0.1,
            "confidence": 0.95,
        },
    }
    for name, content in (("findings", document or findings()), ("host", host), ("plan", plan)):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    question = "Which of eight WebSocket servers returns a small binary message first on this machine?"
    (folder / "scenario.toml").write_text(
        f'schema = 1\nname = "quick"\nquestion = "{question}"\n', encoding="utf-8"
    )
    return folder
