"""A scheduler or a worker, as `feedbench cluster scheduler` and `feedbench worker` run them.

Without the rest of the command line, whose libraries take seconds to load: tests start many.

    host_program.py scheduler ADDRESS PORT [TLS]
    host_program.py worker SCHEDULER NAME ADDRESS OFFERS [TLS]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from feedbench.cluster.assignment import OfferingHost, parse_offers
from feedbench.cluster.scheduler import run_scheduler
from feedbench.cluster.worker import WorkerOrder, run_worker
from feedbench.errors import FeedbenchError
from feedbench.paths import Project

PATIENCE_S = 120.0


def scheduler(address: str, port: str, tls: str | None = None) -> None:
    folder = None if tls is None else Path(tls)
    run_scheduler(address, int(port), folder, ready=lambda where: print(where, flush=True))


def worker(scheduler: str, name: str, address: str, offers: str, tls: str | None = None) -> None:
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    host = OfferingHost(name, address, parse_offers(offers), cpus)
    order = WorkerOrder(scheduler, host, None if tls is None else Path(tls), PATIENCE_S)
    run_worker(order, project=Project.find(), say=lambda line: print(line, file=sys.stderr, flush=True))


if __name__ == "__main__":
    try:
        {"scheduler": scheduler, "worker": worker}[sys.argv[1]](*sys.argv[2:])
    except FeedbenchError as error:
        sys.exit(f"feedbench: {error}")
