"""The controller's side: hosts by name, and what is lost when one of them is.

Every call has a time limit: a host that was killed, or whose network is gone, is a HostLostError and never a
wait without end.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from feedbench.clock_offset.sample import ClockSample
from feedbench.cluster.agent import Agent
from feedbench.cluster.contact import Contact
from feedbench.cluster.dask import need_dask
from feedbench.cluster.greeting import GREETINGS, check_clock, check_version
from feedbench.cluster.station import Built, Look, Sheet
from feedbench.errors import ClusterError, FeedbenchError, HostLostError

CALL_S = 30.0
CONNECT_S = 10.0
# What Dask raises when the other side is gone, in one of its many ways.
LOSSES = (OSError, TimeoutError, asyncio.TimeoutError, RuntimeError, CancelledError, asyncio.CancelledError)


@dataclass
class RemoteHost:
    """A host, as its run's controller sees it."""

    sheet: Sheet
    actor: Any

    @property
    def name(self) -> str:
        return self.sheet.host.name

    def call(self, name: str, *arguments: Any, timeout_s: float = CALL_S, **options: Any) -> Any:
        """What the station answers; HostLostError when it can't be reached in time."""
        return _answer(self.name, lambda: self.actor.call(name, arguments, options), timeout_s)

    def hold(self) -> None:
        _answer(self.name, self.actor.hold, CALL_S)

    def let_go(self) -> None:
        _answer(self.name, self.actor.let_go, CALL_S)

    def built(self, names: tuple[str, ...]) -> dict[str, Built]:
        """See Station.built."""
        found: dict[str, Built] = _answer(self.name, lambda: self.actor.built(names), CALL_S)
        return found

    def look(self) -> tuple[Look, ClockSample]:
        """A glance, which is a sample of the host's CLOCK_MONOTONIC, too."""
        sent_ns = time.monotonic_ns()
        look: Look = self.call("look")
        return look, ClockSample(sent_ns, look.monotonic_ns, time.monotonic_ns())

    def check(self) -> None:
        """ClusterError when its version or its clock does not do."""
        check_version(self.sheet.version, who=self.name)
        samples = []
        for _ in range(GREETINGS):
            sent_ns = time.time_ns()
            look: Look = _answer(self.name, self.actor.look, CALL_S)
            samples.append(ClockSample(sent_ns, look.unix_ns, max(sent_ns, time.time_ns())))
        check_clock(samples, who=f"{self.name} and this controller")


class Cluster:
    """A scheduler, and the hosts that are joined to it now. `token` names the run."""

    def __init__(self, reached: Contact, token: str) -> None:
        need_dask()
        self._reached = reached
        self._token = token
        self._client: Any = None
        self._hosts: dict[str, RemoteHost] = {}

    def hosts(self) -> dict[str, RemoteHost]:
        """Those that answer now, by name; connects, or connects anew, where need be."""
        workers = self._workers()
        found: dict[str, RemoteHost] = {}
        for address, worker in workers.items():
            name = str(worker["name"])
            known = self._hosts.get(name)
            if known is not None and known.actor.address_of_worker == address:
                found[name] = known
            else:
                found[name] = self._attached(name, address, worker)
        self._hosts = found
        return found

    def forget(self) -> None:
        """Drops the connection: the next question makes a new one."""
        client, self._client, self._hosts = self._client, None, {}
        if client is not None:
            try:
                client.close(timeout=2)
            except LOSSES:
                return

    def close(self) -> None:
        """Lets all hosts go."""
        for host in self._hosts.values():
            try:
                host.let_go()
            except ClusterError:
                continue
        self.forget()

    def _workers(self) -> dict[str, Any]:
        try:
            client = self._connected()
            workers: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
            return workers
        except LOSSES as error:
            self.forget()
            raise HostLostError(
                f"no scheduler answers there ({str(error) or type(error).__name__})",
                where=self._reached.url,
                hint="is it up, and are the certificates of the same feedbench cluster init?",
            ) from error

    def _connected(self) -> Any:
        if self._client is None or self._client.status != "running":
            self.forget()
            from distributed import Client

            self._client = Client(
                self._reached.url, security=self._reached.security, timeout=CONNECT_S, direct_to_workers=True
            )
        return self._client

    def _attached(self, name: str, address: str, worker: Any) -> RemoteHost:
        offers = [offer for offer, amount in worker["resources"].items() if amount > 0]

        def made() -> Any:
            return self._client.submit(
                Agent,
                self._token,
                actor=True,
                pure=False,
                key=f"feedbench-{name}-{uuid.uuid4().hex}",
                workers=[address],
                allow_other_workers=False,
                resources={offers[0]: 1} if offers else None,
            )

        actor = _Actor(_answer(name, made, CALL_S), address)
        return RemoteHost(_answer(name, actor.sheet, CALL_S), actor)


class _Actor:
    """A Dask actor with the address of its worker, and with its future, without which it would be dropped."""

    def __init__(self, actor: Any, address: str) -> None:
        self._actor = actor
        self.address_of_worker = address

    def __getattr__(self, name: str) -> Any:
        return getattr(self._actor, name)


def _answer(name: str, ask: Any, timeout_s: float) -> Any:
    try:
        return ask().result(timeout=timeout_s)
    except FeedbenchError:
        raise
    except LOSSES as error:
        raise HostLostError(f"the host is lost ({str(error) or type(error).__name__})", where=name) from error
