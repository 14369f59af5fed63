#!/usr/bin/env python3
"""A stand-in for feedbench-engine in tests: speaks its files and exit statuses, measures nothing.

FAKE_ENGINE says how it misbehaves: "die" (killed half-way), "hang", "garbage" (load.json is no JSON),
"silent" (no load.json), "lost" (three messages lost), "slow" (waits for SIGINT, then leaves its results and
ends with 130). It really connects to each target, so that a dead one is noticed.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

LATENCY = {"count": 9, "min": 1, "mean": 2.0} | dict.fromkeys(
    ["p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"], 2
)
mode = os.environ.get("FAKE_ENGINE", "")
interrupted = False


def note(*_):
    global interrupted
    interrupted = True


def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not interrupted:
        time.sleep(0.005)


def load(request):
    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    sockets = {}
    for target in request["targets"]:
        address = urlsplit(target["url"])
        sockets[target["name"]] = socket.create_connection((address.hostname, address.port), timeout=2)
    print("measuring", file=sys.stderr, flush=True)
    if mode == "hang":
        while True:
            time.sleep(1)
    wait(60 if mode == "slow" else float(os.environ.get("FAKE_SECONDS", "0.05")))
    if mode == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    for target in request["targets"]:
        folder = Path(target["directory"])
        result = {
            "schema": 1,
            "name": target["name"],
            "verdict": "ok",
            "cause": None,
            "interrupted": interrupted,
        }
        result |= {"sent": 9, "received": 9, "lost": 0, "duplicated": 0, "out_of_order": 0, "wrong": 0}
        result |= {"latency_ns": LATENCY, "sent_total": 9, "received_total": 9}
        if mode == "lost":
            result |= {"lost": 3}
        if mode != "silent":
            (folder / "load.json").write_text("{" if mode == "garbage" else json.dumps(result))
    return 130 if interrupted else 0


def main():
    command, *arguments = sys.argv[1:]
    if command == "spin":
        signal.pause()
    if command == "ceiling":
        print(json.dumps({"schema": 1, "results": [{"connections": 1, "in_flight": 1, "bytes": 108}]}))
        return 0
    if command == "jitter":
        loss = {"lost_share": 0.001, "lost_ns": 9, "gap_ns": {"max": 5000}}
        print(json.dumps({"schema": 1, "lost_share": 0.002, "descheduled": loss, "interrupted": loss}))
        return 0
    return load(json.loads(Path(arguments[arguments.index("--request") + 1]).read_text()))


sys.exit(main())
