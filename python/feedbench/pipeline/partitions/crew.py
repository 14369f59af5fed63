"""Who does the tasks: processes of this machine, or the workers of a scheduler; Dask gives them out.

A worker that is lost loses the task that it was at; Dask gives that to another. What was finished is a file.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from feedbench import __version__
from feedbench.cluster.contact import LOOPBACK, contact
from feedbench.cluster.dask import need_dask
from feedbench.cluster.greeting import check_version
from feedbench.errors import ClusterError, FeedbenchError
from feedbench.pipeline.partitions.order import CrewOrder
from feedbench.pipeline.partitions.task import Effort, Place, Task, perform
from feedbench.pipeline.progress import Progress, Say

CONNECT_S = 30.0
LOOK_S = 2.0
LOCAL_RULES = {
    # DuckDB keeps to its own limit and goes to disk by itself: Dask must not wait for memory that it can't
    # free. It only ends a process that has all but reached its limit.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    # A process that was killed is started again; on a busy machine that takes longer than Dask's 15 s.
    "distributed.deploy.lost-worker-timeout": "1h",
}
GONE = (OSError, TimeoutError, asyncio.TimeoutError, CancelledError, asyncio.CancelledError)


class Crew:
    """Workers that are connected. `say` is told of each that is lost."""

    def __init__(self, client: Any, order: CrewOrder, say: Say) -> None:
        self._client = client
        self._order = order
        self._say = say

    def perform(self, tasks: Sequence[Task], place: Place, progress: Progress) -> list[Effort]:
        """All of them, the largest first; FeedbenchError of the first that can't be done."""
        futures = {}
        for task in sorted(tasks, key=lambda each: -each.size):
            future = self._client.submit(
                perform, task, place, pure=False, key=f"feedbench-{task.name}-{uuid.uuid4().hex}"
            )
            futures[future] = task
        efforts = []
        try:
            while futures:
                for future in self._finished(futures):
                    task = futures[future]
                    effort = _effort(future, task)
                    if effort is None:
                        continue
                    efforts.append(effort)
                    del futures[future]
                    progress(task.size)
        finally:
            self._cancel(list(futures))
        return efforts

    def _finished(self, futures: dict[Any, Task]) -> list[Any]:
        """At least one, or none for LOOK_S; ClusterError when nobody is there for so long as is waited."""
        from distributed import wait

        try:
            return list(wait(list(futures), timeout=LOOK_S, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            self._wait_for_workers()
            return []
        except GONE as error:
            raise self._lost(error) from error

    def _wait_for_workers(self) -> None:
        give_up_s = time.monotonic() + self._order.patience_s
        said = False
        while not self._workers():
            if time.monotonic() > give_up_s:
                raise ClusterError(
                    f"no worker has been there for {self._order.patience_s:g} s",
                    where=self._order.cluster,
                    hint="feedbench worker ADDRESS joins a host"
                    if self._order.cluster
                    else "fewer --workers?",
                )
            if not said:
                self._say("no worker is there; waiting for one")
                said = True
            time.sleep(LOOK_S / 4)

    def _workers(self) -> dict[str, Any]:
        try:
            if self._client.status != "running":
                raise TimeoutError(f"the connection is {self._client.status}")
            workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        except GONE as error:
            raise self._lost(error) from error
        return workers

    def _lost(self, error: BaseException) -> ClusterError:
        return ClusterError(
            f"the scheduler is lost ({str(error) or type(error).__name__})",
            where=self._order.cluster,
            hint="start it, and this command, again",
        )

    def _cancel(self, futures: list[Any]) -> None:
        if futures:
            try:
                self._client.cancel(futures, force=True)
            except GONE:
                return

    def check(self, place: Place) -> None:
        """ClusterError when there is no worker, one runs another version, or does not see the folder."""
        self._wait_for_workers()
        token = uuid.uuid4().hex
        seen = place.work / "seen"
        seen.parent.mkdir(parents=True, exist_ok=True)
        seen.write_text(token, encoding="ascii")
        names = {address: str(worker["name"]) for address, worker in self._workers().items()}
        for address, (version, read) in self._client.run(look, seen).items():
            check_version(version, who=names.get(address, address))
            if read != token:
                raise ClusterError(
                    f"it does not see {place.folder}",
                    where=names.get(address, address),
                    hint="all hosts must have this folder in common, under the same name (NFS, for instance)",
                )
        seen.unlink()


def look(path: Path) -> tuple[str, str]:
    """On a worker: its version, and what it reads there."""
    try:
        return __version__, path.read_text(encoding="ascii")
    except OSError:
        return __version__, ""


@contextmanager
def crew_of(order: CrewOrder, scratch: Path, say: Say) -> Iterator[Crew]:
    """While the context lasts. `scratch` is for what processes of this machine leave lying."""
    need_dask()
    with _cluster_client(order) if order.cluster else _local_client(order, scratch) as client:
        yield Crew(client, order, say)


@contextmanager
def _local_client(order: CrewOrder, scratch: Path) -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(LOCAL_RULES),
        LocalCluster(
            n_workers=order.workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=order.memory_limit_bytes,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            local_directory=str(scratch),
        ) as cluster,
        Client(cluster, timeout=CONNECT_S) as client,
    ):
        yield client


@contextmanager
def _cluster_client(order: CrewOrder) -> Iterator[Any]:
    from distributed import Client

    reached = contact(order.cluster or "", order.tls, role="controller")
    try:
        client = Client(reached.url, security=reached.security, timeout=CONNECT_S)
    except GONE as error:
        raise ClusterError(
            f"no scheduler answers there ({str(error) or type(error).__name__})",
            where=reached.url,
            hint="is it up, and are the certificates of the same feedbench cluster init?",
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_S)


def _effort(future: Any, task: Task) -> Effort | None:
    """None where its worker was lost between the end of the task and this question: it is asked again then,
    and whoever gets the task finds the result.
    """
    from distributed.scheduler import KilledWorker

    try:
        effort: Effort = future.result(timeout=CONNECT_S)
        return effort
    except FeedbenchError:
        raise
    except TimeoutError:
        return None
    except KilledWorker as error:
        raise ClusterError(
            "several workers died over this part of the work, one after the other",
            where=task.name,
            hint="they lacked memory, most likely: a larger --memory-limit, or fewer --workers",
        ) from error
    except GONE as error:
        raise ClusterError(
            f"this part of the work failed ({str(error) or type(error).__name__})",
            where=task.name,
            hint="are the scheduler and the folder still there?",
        ) from error
