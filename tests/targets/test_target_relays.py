"""Relays pass on everything, unchanged and in order, between a real exchange and an independent client."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from target_serving import PROJECT, REGISTRY
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from feedbench.commands import environment, fill
from feedbench.feed.ledger import read_ledger
from feedbench.feed.relay_process import listens
from feedbench.feed.stamps import Kind, read_stamps
from feedbench.launch import UNSUPPORTED_STATUS
from feedbench.target import Target

pytestmark = pytest.mark.end_to_end

RELAYS = [target for target in REGISTRY.targets if target.relay_command is not None]
every_relay = pytest.mark.parametrize("name", [target.name for target in RELAYS])
# These know messages: one connection upstream may serve all clients, and is made again when it is lost.
every_sharing_relay = pytest.mark.parametrize(
    "name", [target.name for target in RELAYS if target.takes("upstream", "shared")]
)
# These pass bytes on, from one connection to one other.
every_proxy = pytest.mark.parametrize(
    "name", [target.name for target in RELAYS if not target.takes("upstream", "shared")]
)
STREAM = "/ws/btcusdt@bookTicker/btcusdt@trade"
DEADLINE_S = 60.0
Key = tuple[int, int]  # length and CRC-32, as the ledger has them


def key(message: str | bytes) -> Key:
    content = message.encode() if isinstance(message, str) else message
    return len(content), zlib.crc32(content)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Exchange:
    """A simulated exchange that speaks as Binance does, and its ledger."""

    ledger: Path
    process: subprocess.Popen[str]
    port: int

    def sent(self) -> list[Key]:
        """Ends the exchange; every message that left, in order, each once however many got it."""
        self.process.terminate()
        self.process.communicate(timeout=DEADLINE_S)
        ledger = read_ledger(self.ledger)
        assert ledger.complete
        return [(int(row["bytes"]), int(row["crc32"])) for row in ledger.messages if row["recipients"]]


@dataclass
class Relay:
    process: subprocess.Popen[str]
    port: int
    stamps: Path

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/feed"

    def client(self) -> ClientConnection:
        """An independent client, once the relay listens."""
        give_up = time.monotonic() + DEADLINE_S
        while True:
            try:
                return connect(self.url, compression=None, proxy=None, close_timeout=5)
            except OSError:
                assert self.process.poll() is None, self.process.communicate()[1]
                assert time.monotonic() < give_up, "the relay never listened"
                time.sleep(0.02)

    def end(self) -> str:
        """SIGTERM; what it said. It has two seconds on a machine that has time for it."""
        self.process.terminate()
        _, said = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == 0, said
        return said


@dataclass
class Collected:
    """What one client receives, by a thread of its own, until the connection ends."""

    connection: ClientConnection
    messages: list[str | bytes] = field(default_factory=list)
    ended: ConnectionClosed | None = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._collect, daemon=True)
        self.thread.start()

    def _collect(self) -> None:
        try:
            while True:
                self.messages.append(self.connection.recv())
        except ConnectionClosed as error:
            self.ended = error

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self.messages) >= count, f"only {len(self.messages)} of {count} messages came")

    def wait_for_end(self) -> None:
        """Until all that came was read, and the end of the connection."""
        self.thread.join(DEADLINE_S)
        assert self.ended is not None, "the connection did not end"

    def keys(self) -> list[Key]:
        return [key(message) for message in self.messages]


def wait_until(happened: Callable[[], bool], otherwise: str) -> None:
    give_up = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < give_up, otherwise
        time.sleep(0.02)


@pytest.fixture
def exchange(tmp_path: Path) -> Iterator[Callable[..., Exchange]]:
    if not PROJECT.exchange.exists():
        pytest.skip("the exchange is not built (make setup)")
    with ExitStack() as stack:

        def start(*arguments: str) -> Exchange:
            ledger = tmp_path / f"{len(list(tmp_path.glob('*.ledger')))}.ledger"
            command = [str(PROJECT.exchange), "--json", "--no-tls", "--personality", "binance"]
            command += ["--symbols", "BTC/USDT", "--ledger", str(ledger), *arguments]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            port = int(said["urls"]["binance"]["ws"].rpartition(":")[2].partition("/")[0])
            return Exchange(ledger, process, port)

        yield start


@pytest.fixture
def relay(built: Callable[[str], Target], tmp_path: Path) -> Iterator[Callable[..., Relay]]:
    with ExitStack() as stack:

        def start(name: str, upstream_port: int, **variables: str) -> Relay:
            target, port, stamps = built(name), free_port(), tmp_path / "entered"
            assert target.relay_command is not None
            command = fill(target.relay_command, target=target, project=PROJECT)
            addresses = ["ws://127.0.0.1", str(upstream_port), STREAM, "127.0.0.1", str(port)]
            recorded = {"FEEDBENCH_SINK": "stamps", "FEEDBENCH_OUTPUT": str(stamps)}
            if "stamps" not in target.knobs.get("sink", ()):
                recorded = {}
            process = subprocess.Popen(
                [*command, "binance", *addresses],
                cwd=target.folder,
                env={**environment(), **recorded, **variables},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                # In the background SIGINT may be ignored, which a JVM and a shell would inherit.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            stack.callback(process.kill)
            return Relay(process, port, stamps)

        yield start


def positions(received: Sequence[Key], sent: Sequence[Key]) -> list[int]:
    """Where each received message stands among those that were sent: each later than the one before it."""
    found: list[int] = []
    begin = 0
    for each in received:
        assert each in sent[begin:], f"message {len(found)} was not sent, or not after the one before it"
        begin = sent.index(each, begin) + 1
        found.append(begin - 1)
    return found


def connections(stamps: Path) -> int:
    return int((read_stamps(stamps).heads["kind"] == Kind.CONNECTED).sum())


@every_sharing_relay
def test_two_clients_get_every_message_in_order(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "300")
    passing = relay(name, source.port)
    clients = [Collected(passing.client()) for _ in range(2)]
    for client in clients:
        client.wait_for(200)
    assert connections(passing.stamps) == 1, "one upstream connection serves both"
    assert passing.end() == ""
    sent = source.sent()
    for client in clients:
        client.wait_for_end()
        found = positions(client.keys(), sent)
        assert found == list(range(found[0], found[0] + len(found))), "something is missing"


@every_relay
def test_who_comes_later_gets_what_comes_later_and_who_goes_is_not_missed(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "300")
    passing = relay(name, source.port)
    first = Collected(passing.client())
    first.wait_for(50)
    second = Collected(passing.client())
    second.wait_for(50)
    first.connection.close()
    until = len(second.messages) + 100
    second.wait_for(until)
    passing.end()
    sent = source.sent()
    found = positions(second.keys(), sent)
    assert found == list(range(found[0], found[0] + len(found)))
    assert found[0] > positions(first.keys()[:1], sent)[0]


@every_sharing_relay
def test_a_lost_upstream_is_resumed_without_duplicates_or_reordering(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "300", "--fault", "disconnect:after=700ms")
    passing = relay(name, source.port)
    client = Collected(passing.client())
    wait_until(lambda: connections(passing.stamps) >= 3, "it did not connect again")
    seen = len(client.messages)
    client.wait_for(seen + 30)
    said = passing.end()
    client.wait_for_end()
    assert len(said.splitlines()) >= 2, "each loss is told on stderr"
    found = positions(client.keys(), source.sent())
    assert found == sorted(set(found))


@every_relay
def test_each_client_may_have_an_upstream_of_its_own(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "300")
    passing = relay(name, source.port, FEEDBENCH_UPSTREAM="each")
    clients = [Collected(passing.client()) for _ in range(2)]
    for client in clients:
        client.wait_for(100)
    passing.end()
    sent = source.sent()
    assert read_ledger(source.ledger).messages["recipients"].max() == 2, "two connections to the exchange"
    for client in clients:
        found = positions(client.keys(), sent)
        assert found == list(range(found[0], found[0] + len(found)))


@every_relay
def test_a_client_that_does_not_read_keeps_nothing_from_the_others(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "3000")
    passing = relay(name, source.port)
    passing.client().close()  # it listens
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", passing.port))
        handshake = "GET /feed HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        deaf.sendall(
            f"{handshake}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n\r\n".encode()
        )
        client = Collected(passing.client())
        client.wait_for(5_000)
        passing.end()
    sent = source.sent()
    found = positions(client.keys(), sent)
    assert found == list(range(found[0], found[0] + len(found)))


@every_proxy
def test_a_proxy_that_lost_its_upstream_ends_the_client_and_serves_the_next(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "300", "--fault", "disconnect:after=700ms")
    passing = relay(name, source.port)
    seen: list[Key] = []
    for _ in range(2):
        client = Collected(passing.client())
        client.wait_for_end()
        seen += client.keys()
    passing.end()
    assert seen, "nothing was passed on"
    positions(seen, source.sent())


@every_proxy
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_proxy_without_an_exchange_refuses_clients_and_leaves_nothing_behind(
    name: str, number: signal.Signals, relay: Callable[..., Relay], tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    passing = relay(name, free_port(), TMPDIR=str(temporary))
    with pytest.raises(InvalidStatus) as refused:
        passing.client()
    assert refused.value.response.status_code in (502, 503)
    passing.process.send_signal(number)
    assert passing.process.wait(DEADLINE_S) == 0
    wait_until(lambda: not listens(passing.port), "the proxy outlived its end")
    assert list(temporary.iterdir()) == []


@every_proxy
def test_a_proxy_does_not_outlive_who_started_it(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay], tmp_path: Path
) -> None:
    passing = relay(name, exchange("--rate", "10").port, TMPDIR=str(tmp_path))
    passing.client().close()
    passing.process.kill()
    wait_until(lambda: not listens(passing.port), "the proxy is still there")


@every_proxy
@pytest.mark.parametrize(
    "variable",
    [{"FEEDBENCH_UPSTREAM": "shared"}, {"FEEDBENCH_SINK": "stamps"}, {"FEEDBENCH_SUBSCRIBE": "{}"}],
    ids=lambda variable: next(iter(variable)),
)
def test_a_proxy_says_what_it_can_not_do(
    name: str, variable: dict[str, str], relay: Callable[..., Relay]
) -> None:
    passing = relay(name, free_port(), **variable)
    _, said = passing.process.communicate(timeout=DEADLINE_S)
    assert passing.process.returncode == UNSUPPORTED_STATUS
    assert len(said.splitlines()) == 1
    assert next(iter(variable)) in said


@every_sharing_relay
def test_the_control_passes_on_later_by_the_known_delay(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "20")
    passing = relay(name, source.port, FEEDBENCH_DELAY_NS="5000000")
    client = Collected(passing.client())
    client.wait_for(10)
    passing.end()
    stamps = read_stamps(passing.stamps)
    entered = stamps.heads[stamps.is_message]["received_ns"]
    source.sent()
    ledger = read_ledger(source.ledger)
    by_key = {(int(row["bytes"]), int(row["crc32"])): int(row["sent_ns"]) for row in ledger.messages}
    sent_ns = [by_key[each] for each in client.keys()[-5:]]
    # The spin is the least that lies between; what else does is the machine's.
    assert all(int(at) - sent >= 5_000_000 for at, sent in zip(entered[-5:], sent_ns, strict=True))


@every_relay
def test_only_the_feed_is_served(
    name: str, exchange: Callable[..., Exchange], relay: Callable[..., Relay]
) -> None:
    source = exchange("--rate", "10")
    passing = relay(name, source.port)
    passing.client().close()
    with pytest.raises(InvalidStatus):
        connect(passing.url.replace("/feed", "/echo"), proxy=None)


@every_sharing_relay
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_on_a_signal_while_the_exchange_is_away(
    name: str, number: signal.Signals, relay: Callable[..., Relay]
) -> None:
    passing = relay(name, free_port())
    client = Collected(passing.client())
    time.sleep(0.3)
    passing.process.send_signal(number)
    assert passing.process.wait(DEADLINE_S) == 0
    client.thread.join(5)
    assert client.messages == []


@every_relay
def test_arguments_that_make_no_sense_are_refused_in_one_line(
    name: str, built: Callable[[str], Target]
) -> None:
    target = built(name)
    assert target.relay_command is not None
    command = fill(target.relay_command, target=target, project=PROJECT)
    good = ["binance", "ws://127.0.0.1", "1", "/x", "127.0.0.1", "1"]
    for arguments in (good[:5], [*good[:5], "no-port"], [*good[:2], "99999", *good[3:]]):
        said = subprocess.run(
            [*command, *arguments],
            cwd=target.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert said.returncode == 2, said.stderr
        assert len(said.stderr.splitlines()) == 1, said.stderr
