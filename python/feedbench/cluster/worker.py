"""A host as a Dask worker: asks to be admitted, offers its station, and waits when the scheduler is lost."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.clock_offset.sample import ClockSample
from feedbench.cluster.agent import STATION
from feedbench.cluster.assignment import OfferingHost
from feedbench.cluster.contact import Contact, contact, is_loopback
from feedbench.cluster.dask import need_dask
from feedbench.cluster.greeting import GREETINGS, check_clock, check_version
from feedbench.cluster.scheduler import GREET, stop_event
from feedbench.cluster.station import Station
from feedbench.errors import ClusterError
from feedbench.paths import Project

PATIENCE_S = 30.0  # for a scheduler that is not there yet
ANSWER_S = 5.0
RETRY_S = 0.5
LEASE_CHECK_S = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class WorkerOrder:
    """What `feedbench worker` was told."""

    scheduler: str
    host: OfferingHost
    tls: Path | None
    patience_s: float = PATIENCE_S


def run_worker(order: WorkerOrder, *, project: Project, say: Say) -> None:
    """Serves until SIGINT or SIGTERM; ClusterError when the host is refused, or finds no scheduler."""
    need_dask()
    _check_cpus(order.host)
    reached = contact(order.scheduler, order.tls, role="worker")
    if is_loopback(order.host.address) and not _is_near(reached):
        raise ClusterError(
            "the scheduler is on another machine, and this host would listen on its loopback only",
            where=order.host.name,
            hint="--address says at which of its addresses the others reach it",
        )
    with tempfile.TemporaryDirectory(prefix="feedbench-host-") as scratch:
        station = Station(order.host, project, Path(scratch) / "station", say)
        try:
            asyncio.run(_work(order, reached, station, Path(scratch) / "dask", say))
        finally:
            station.close()


async def _work(order: WorkerOrder, reached: Contact, station: Station, scratch: Path, say: Say) -> None:
    stop = stop_event()
    give_up_s: float | None = time.monotonic() + order.patience_s
    while not stop.is_set():
        if not await _admitted(reached, order.host.name, stop, give_up_s):
            return
        worker = await _joined(order, reached, station, scratch)
        say(f"{order.host.name} takes part at {worker.address}: {', '.join(order.host.offers)}")
        await _until_either(stop, worker, station)
        await worker.close()
        await asyncio.to_thread(station.close)
        if not stop.is_set():
            say("the scheduler is gone; waiting for it to come back")
        give_up_s = None


async def _admitted(reached: Contact, name: str, stop: asyncio.Event, give_up_s: float | None) -> bool:
    """Returns True when this host may take part, False when it was told to stop meanwhile."""
    while not stop.is_set():
        try:
            await _greet(reached, name)
            return True
        except (OSError, TimeoutError) as error:
            if give_up_s is not None and time.monotonic() > give_up_s:
                raise ClusterError(
                    f"no scheduler answers there ({str(error) or type(error).__name__})",
                    where=reached.url,
                    hint="is it up, and are the certificates of the same feedbench cluster init?",
                ) from error
            await asyncio.sleep(RETRY_S)
    return False


async def _greet(reached: Contact, name: str) -> None:
    from distributed.core import rpc

    security = reached.security
    arguments = {} if security is None else security.get_connection_args("worker")
    remote = rpc(reached.url, timeout=ANSWER_S, connection_args=arguments)
    samples = []
    try:
        for _ in range(GREETINGS):
            sent_ns = time.time_ns()
            answer: Any = await asyncio.wait_for(getattr(remote, GREET)(), ANSWER_S)
            received_ns = time.time_ns()
            if not isinstance(answer, dict) or "version" not in answer:
                raise ClusterError(
                    "this is no scheduler of feedbench",
                    where=reached.url,
                    hint="feedbench cluster scheduler starts one",
                )
            samples.append(ClockSample(sent_ns, answer["unix_ns"], max(sent_ns, received_ns)))
    finally:
        await remote.close_rpc()
    check_version(answer["version"], who=f"the scheduler at {reached.url}, for {name}")
    check_clock(samples, who=f"{name} and the scheduler at {reached.url}")


async def _joined(order: WorkerOrder, reached: Contact, station: Station, scratch: Path) -> Any:
    from distributed import Worker

    host = order.host
    worker = Worker(
        reached.url,
        name=host.name,
        host=host.address,
        nthreads=1,
        resources=dict.fromkeys(host.offers, 1),
        security=reached.security,
        local_directory=str(scratch),
        memory_limit=0,  # what is measured here is none of Dask's business
        dashboard_address="127.0.0.1:0",
    )
    setattr(worker, STATION, station)
    try:
        return await worker
    except RuntimeError as error:  # Dask's way to say that the scheduler took it for somebody else
        raise ClusterError(
            f"refused by the scheduler: {error.__cause__ or error}",
            where=host.name,
            hint="is there a host of this name already? --name gives it another",
        ) from error


async def _until_either(stop: asyncio.Event, worker: Any, station: Station) -> None:
    """Until it is told to stop, or the scheduler is lost; meanwhile the station's lease is looked at."""
    stopped = asyncio.create_task(stop.wait())
    lost = asyncio.create_task(worker.finished())
    try:
        while not (stopped.done() or lost.done()):
            await asyncio.wait((stopped, lost), timeout=LEASE_CHECK_S, return_when="FIRST_COMPLETED")
            await asyncio.to_thread(station.expire)
    finally:
        stopped.cancel()
        lost.cancel()


def _check_cpus(host: OfferingHost) -> None:
    allowed = os.sched_getaffinity(0)
    if strange := sorted(set(host.cpus) - allowed):
        raise ClusterError(
            f"CPU {strange[0]} is not there, or not for this process",
            where="--cpus",
            hint=f"it may use {', '.join(map(str, sorted(allowed)))}",
        )


def _is_near(reached: Contact) -> bool:
    return is_loopback(reached.url.partition("://")[2].rpartition(":")[0].strip("[]"))
