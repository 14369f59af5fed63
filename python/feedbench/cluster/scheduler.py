"""The Dask scheduler that hosts and controllers meet at. It answers a greeting; the rest is Dask's."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from feedbench.cluster.contact import security_for
from feedbench.cluster.dask import need_dask
from feedbench.cluster.greeting import own_greeting
from feedbench.errors import ClusterError

GREET = "feedbench_greet"


def run_scheduler(host: str, port: int, tls: Path | None, *, ready: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; `ready` is told the address. Port 0 takes a free one."""
    need_dask()
    asyncio.run(_serve(host, port, security_for(host, tls, role="scheduler"), ready))


async def _serve(host: str, port: int, security: Any, ready: Callable[[str], None]) -> None:
    from distributed import Scheduler

    stop = stop_event()
    try:
        # Dask's web page is bound to the loopback, on any port: nothing here uses it.
        scheduler = Scheduler(
            host=host,
            port=port,
            protocol="tcp" if security is None else "tls",
            security=security,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
        )
        scheduler.handlers[GREET] = greet
        await scheduler
    except OSError as error:
        raise ClusterError(
            f"cannot listen there: {error.strerror or error}", where=f"{host}:{port}"
        ) from error
    try:
        ready(scheduler.address)
        await stop.wait()
    finally:
        await scheduler.close()  # hosts go on, and wait for the next scheduler (worker.py)


async def greet() -> dict[str, Any]:
    """Version and clock, as a message."""
    greeting = own_greeting()
    return {"version": greeting.version, "unix_ns": greeting.unix_ns, "monotonic_ns": greeting.monotonic_ns}


def stop_event() -> asyncio.Event:
    """Set by SIGINT and SIGTERM; within a running loop."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
