"""What the Python relays share: arguments, knobs, who follows what, back-off, an orderly end (spec/feed.md).

A relay brings a `Library`, which follows one upstream connection, serves clients, and sends to them.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NoReturn, Protocol

import feed_client
import serving

Payload = str | bytes
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 2.0  # before connecting again, doubled from one to the other
END_DEADLINE_S = 1.5
USAGE = "EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT"


class Library(Protocol):
    """What differs from one library to another. A client is whatever the library has for one."""

    async def follow(self, upstream: "Upstream") -> str:
        """One connection upstream, from its handshake to its end; how it ended."""

    async def serve(self, listener: socket.socket, relay: "Relay") -> None:
        """Serves /feed until it is cancelled: each client joins the relay, and leaves it when it is gone."""

    def send(self, clients: Collection[Any], payload: Payload, kind: int) -> None:
        """One message to all of `clients`, without waiting for any of them."""


class Upstream:
    """One connection to the exchange, renewed for as long as it is wanted; its messages go to `clients`."""

    def __init__(self, relay: "Relay", clients: Collection[Any]) -> None:
        self.relay = relay
        self.clients = clients
        self.url = relay.url
        self.ssl_context = relay.ssl_context
        self.subscriptions = relay.subscriptions
        self.deflate = relay.deflate
        self.wait_s = FIRST_WAIT_S

    def connected(self) -> None:
        """The handshake is done, and what there is to subscribe to is asked for."""
        self.wait_s = FIRST_WAIT_S
        self.relay.record(time.monotonic_ns(), feed_client.CONNECTED, b"")

    def deliver(self, payload: Payload, kind: int) -> None:
        """Hands a message on; it is recorded as of now, which the control's delay is part of."""
        received_ns = self.relay.clock()
        self.relay.library.send(self.clients, payload, kind)
        self.relay.record(received_ns, kind, payload)

    async def stay_connected(self) -> None:
        """Follows again and again, with back-off, until it is cancelled. Clients are told nothing."""
        while True:
            try:
                reason = await self.relay.library.follow(self)
            except Exception as error:  # a library's own kinds: no two have one in common
                reason = f"lost: {error or type(error).__name__}"
            print(f"{reason}; again in {self.wait_s:g} s", file=sys.stderr, flush=True)
            self.relay.record(time.monotonic_ns(), feed_client.END, reason)
            await asyncio.sleep(self.wait_s)
            self.wait_s = min(2 * self.wait_s, LONGEST_WAIT_S)


class Relay:
    """What the command line and the knobs ask for, and who is connected."""

    def __init__(self, library: Library) -> None:
        if len(sys.argv) != 7:
            feed_client.fail(f"usage: {sys.argv[0]} {USAGE}", feed_client.USAGE)
        _, domain, port, stream, host, listen_port = sys.argv[1:]
        for text in (port, listen_port):
            if not text.isdecimal() or not 0 < int(text) < 65536:
                feed_client.fail(f"the port {text} is not a number from 1 to 65535", feed_client.USAGE)
        address = domain if domain.startswith("ws://") else f"wss://{domain}"
        self.url = f"{address}:{port}{stream}"
        self.library = library
        self.subscriptions = os.environ.get("FEEDBENCH_SUBSCRIBE", "").splitlines()
        self.deflate = feed_client.knob("deflate", "default", "on", "off")
        self.each = feed_client.knob("upstream", "shared", "each") == "each"
        self.clock = feed_client.clock_after(feed_client.delay_ns())
        self.ssl_context = feed_client.trusting(self.url)
        self.sink = self._open_sink()
        self.clients: set[Any] = set()
        self.followed: dict[Any, asyncio.Task[None]] = {}  # by client; shared: by the relay itself
        self.flush_is_due = False
        self.listener = serving.listening_socket(host, int(listen_port))

    def _open_sink(self) -> feed_client.Sink:
        if feed_client.knob("sink", "none", "stamps") == "none":
            return feed_client.Nowhere()
        path = os.environ.get("FEEDBENCH_OUTPUT")
        if not path:
            feed_client.fail("FEEDBENCH_OUTPUT is not set: the sink stamps wants a file", feed_client.USAGE)
        try:
            return feed_client.Stamps(path)
        except OSError as error:
            feed_client.fail(f"cannot write {path}: {error}")

    def join(self, client: Any) -> None:
        """A client has connected to /feed."""
        self.clients.add(client)
        if self.each:
            self._follow(client, Upstream(self, (client,)))

    def leave(self, client: Any) -> None:
        """It is gone; with it its own upstream connection, if it has one."""
        self.clients.discard(client)
        if client in self.followed:
            self.followed.pop(client).cancel()

    def _follow(self, owner: Any, upstream: Upstream) -> None:
        self.followed[owner] = asyncio.ensure_future(upstream.stay_connected())

    def record(self, received_ns: int, kind: int, payload: Payload) -> None:
        self.sink.add(received_ns, time.time_ns(), kind, payload)
        if not self.flush_is_due:
            self.flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self.flush_is_due = False
        try:
            self.sink.flush()
        except OSError as error:
            feed_client.lose_sink(error)

    async def run(self) -> None:
        """Until asked to end; then everything is closed within the deadline."""
        if not self.each:
            self._follow(self, Upstream(self, self.clients))
        server = asyncio.ensure_future(self.library.serve(self.listener, self))
        asked = asyncio.ensure_future(serving.asked_to_end())
        await asyncio.wait({server, asked}, return_when="FIRST_COMPLETED")
        ending = {server, *self.followed.values()}
        for task in ending:
            task.cancel()
        await asyncio.wait(ending, timeout=END_DEADLINE_S)
        if server.done() and not server.cancelled():
            server.result()  # it failed by itself: with its traceback
        self.record(time.monotonic_ns(), feed_client.END, "")
        with suppress(OSError):
            self.sink.close()


def run(library: Library) -> NoReturn:
    """Runs the relay that the command line asks for, to the end of the program."""
    relay = Relay(library)
    if feed_client.knob("event_loop", "asyncio", "uvloop") == "uvloop":
        import uvloop

        loop_factory = uvloop.new_event_loop
    else:
        loop_factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(relay.run())
    sys.exit(0)
