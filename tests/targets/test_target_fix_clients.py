"""FIX clients keep to their contract: what they take down is what the exchange's ledger says was sent
(spec/feed.md, FIX).
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from target_serving import PROJECT, REGISTRY

from feedbench.commands import environment, fill
from feedbench.feed.join import join
from feedbench.feed.ledger import Ledger, read_ledger
from feedbench.feed.received import read_received
from feedbench.feed.stamps import Kind, Stamps, read_stamps
from feedbench.target import Target

pytestmark = pytest.mark.end_to_end

DEADLINE_S = 60
CLIENTS = [target.name for target in REGISTRY.targets if "fix" in target.doors]
every_client = pytest.mark.parametrize("name", CLIENTS)
TRADES = "/SPOT/BTCUSDT/2"
# By the exchange's name in its first line: the stream, with its CompID and its name of the symbol.
DOORS = {"binance": TRADES, "standard": "/FEEDBENCH/BTC/USD/0,1,2"}


@dataclass
class Client:
    """A running one and its record."""

    process: subprocess.Popen[str]
    output: Path

    def stamps(self) -> Stamps:
        return read_stamps(self.output)

    def wait_for(self, messages: int) -> None:
        """Until it has so many messages."""
        give_up = time.monotonic() + DEADLINE_S
        while not self.output.exists() or int(self.stamps().is_message.sum()) < messages:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < give_up, "nothing comes"
            time.sleep(0.02)

    def ended(self) -> tuple[int, str]:
        """Its status and what it said, once it has ended by itself."""
        _, said = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, said


StartClient = Callable[..., Client]


@pytest.fixture
def start_client(built: Callable[[str], Target], tmp_path: Path) -> Iterator[StartClient]:
    """`start_client("python/simplefix", "fix://127.0.0.1", 9880, "/SPOT/BTCUSDT/2", sink="sqlite")`."""
    with ExitStack() as stack:

        def begin(name: str, *arguments: object, **knobs: str) -> Client:
            target = built(name)
            assert target.feed_client_command is not None
            output = tmp_path / f"{len(list(tmp_path.glob('*.record')))}.record"
            process = stack.enter_context(
                subprocess.Popen(
                    [*fill(target.feed_client_command, target=target, project=PROJECT),
                     "exchange", *map(str, arguments)],
                    cwd=target.folder,
                    env=environment({"output": str(output), **knobs}),
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )  # fmt: skip
            stack.callback(process.kill)
            return Client(process, output)

        yield begin


@dataclass
class Market:
    """A running exchange: where its doors are, and its ledger."""

    process: subprocess.Popen[str]
    beginning: dict[str, Any]
    file: Path

    def port(self, exchange: str, door: str = "fix") -> int:
        port = urlsplit(self.beginning["urls"][exchange][door]).port
        assert port is not None
        return port

    def ledger(self) -> Ledger:
        """Whole, since the exchange is asked to end."""
        self.process.terminate()
        self.process.communicate(timeout=DEADLINE_S)
        return read_ledger(self.file)


@contextmanager
def market(folder: Path, *arguments: str) -> Iterator[Market]:
    """A Binance of one symbol with FIX, whose market opens when its client has subscribed."""
    if not PROJECT.exchange.exists():
        pytest.skip("the exchange is not built (make setup)")
    file = folder / "run.ledger"
    command = [
        *(str(PROJECT.exchange), "--personality", "binance", "--fix", "--symbols", "BTC", "--json"),
        *("--certificates", str(folder / "ca"), "--ledger", str(file), "--wait-for", "1", *arguments),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield Market(process, json.loads(process.stdout.readline()), file)
        finally:
            process.kill()


@every_client
@pytest.mark.parametrize("door", DOORS)
def test_it_records_every_message_and_how_the_session_ended(
    name: str, door: str, start_client: StartClient, tmp_path: Path
) -> None:
    before_ns = time.monotonic_ns()
    with market(tmp_path, "--rate", "20000", "--events", "3000") as running:
        client = start_client(name, "fix://127.0.0.1", running.port(door), DOORS[door])
        status, said = client.ended()
        ledger = running.ledger()
    assert status == 1
    assert said == "closed: logout The exchange closes\n"
    stamps = client.stamps()
    assert [stamps.heads["kind"][0], stamps.heads["kind"][-1]] == [Kind.CONNECTED, Kind.END]
    assert stamps.reasons == [said.strip()]
    times_ns = stamps.heads["received_ns"]
    assert before_ns < times_ns[0]
    assert (times_ns[1:] >= times_ns[:-1]).all()
    assert ledger.complete
    joined = join(read_received(client.output, "stamps"), ledger.messages[ledger.is_for(0, "fix")])
    assert len(joined.place) == len(joined.messages) > 100
    assert (joined.lost, joined.unknown, joined.duplicated, joined.out_of_order) == (0, 0, 0, 0)
    assert (joined.received_ns >= joined.sent["sent_ns"]).all()


@every_client
def test_a_message_that_was_changed_or_left_out_would_be_noticed(
    name: str, start_client: StartClient, tmp_path: Path
) -> None:
    """The planted fault of the test above."""
    with market(tmp_path, "--rate", "20000", "--events", "1000") as running:
        client = start_client(name, "fix://127.0.0.1", running.port("binance"), TRADES)
        client.ended()
        ledger = running.ledger()
    content = bytearray(client.output.read_bytes())
    changed = content.index(b"\x01270=", content.index(b"\x0135=X")) + 6
    content[changed] ^= 1
    client.output.write_bytes(content)
    joined = join(read_received(client.output, "stamps"), ledger.messages[ledger.is_for(0, "fix")])
    assert joined.lost == 1
    assert joined.unknown + joined.replies == 1


@every_client
@pytest.mark.parametrize("how", ["signal", "file"])
def test_it_ends_when_asked(name: str, how: str, start_client: StartClient, tmp_path: Path) -> None:
    with market(tmp_path, "--rate", "2000") as running:
        exit_file = tmp_path / "exit"
        client = start_client(
            name, "fix://127.0.0.1", running.port("binance"), TRADES, exit_file=str(exit_file)
        )
        client.wait_for(20)
        if how == "file":
            exit_file.touch()
        else:
            client.process.send_signal(signal.SIGTERM)
        assert client.ended() == (0, "")
        assert client.stamps().reasons == [""]
        ledger = running.ledger()
    # What came before the exchange's Logout is there, and nothing is missing in between.
    joined = join(read_received(client.output, "stamps"), ledger.messages[ledger.is_for(0, "fix")])
    assert joined.unknown == joined.duplicated == joined.out_of_order == 0
    assert list(joined.place) == list(range(len(joined.place)))


@every_client
def test_it_speaks_tls_and_trusts_nobody_else(name: str, start_client: StartClient, tmp_path: Path) -> None:
    with market(tmp_path, "--rate", "2000") as running:
        port = running.port("binance", "fix_tls")
        stranger = start_client(name, "localhost", port, TRADES)
        status, said = stranger.ended()
        assert status == 1
        assert said.startswith("cannot connect to ")
        client = start_client(name, "localhost", port, TRADES, ca_file=running.beginning["ca"])
        client.wait_for(20)
        client.process.send_signal(signal.SIGTERM)
        assert client.ended() == (0, "")


@every_client
def test_an_end_that_nobody_asked_for_has_a_reason(
    name: str, start_client: StartClient, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed_port = listener.getsockname()[1]
    status, said = start_client(name, "fix://127.0.0.1", closed_port, TRADES).ended()
    assert (status, said.count("\n")) == (1, 1), said
    assert said.startswith("cannot connect to ")
    with market(tmp_path, "--rate", "2000") as running:
        refused = start_client(name, "fix://127.0.0.1", running.port("binance"), "/SPOT/NOSUCH/2")
        status, said = refused.ended()
        assert (status, said.count("\n")) == (1, 1), said
        assert said.startswith("lost: refused: ")
        client = start_client(name, "fix://127.0.0.1", running.port("binance"), TRADES)
        client.wait_for(1)
        running.process.kill()
        status, said = client.ended()
    assert (status, said[:6], said.count("\n")) == (1, "lost: ", 1), said
    assert client.stamps().reasons == [said.strip()]


@every_client
def test_a_gap_in_the_numbers_ends_it(name: str, start_client: StartClient, tmp_path: Path) -> None:
    with market(tmp_path, "--rate", "2000", "--fault", "gap:at=5") as running:
        client = start_client(name, "fix://127.0.0.1", running.port("binance"), TRADES)
        status, said = client.ended()
    assert (status, said.count("\n")) == (1, 1), said
    assert said.startswith("lost: ")


@every_client
def test_a_gap_is_filled_where_both_ends_send_again(
    name: str, start_client: StartClient, tmp_path: Path
) -> None:
    faults = [word for at in (50, 51, 120, 300) for word in ("--fault", f"gap:at={at}")]
    with market(tmp_path, "--rate", "2000", *faults) as running:
        client = start_client(name, "fix://127.0.0.1", running.port("standard"), DOORS["standard"])
        if REGISTRY.get(name).options["resend"] == "off":
            status, said = client.ended()
            assert (status, said.count("\n")) == (1, 1), said
            assert said.startswith("lost: ")
            return
        client.wait_for(500)
        client.process.send_signal(signal.SIGTERM)
        assert client.ended() == (0, "")
        ledger = running.ledger()
    # Also what was kept from all: it was asked for and sent again.
    streams = [stream for stream, told in ledger.names.items() if told.startswith("standard fix ")]
    sent = ledger.messages[np.isin(ledger.messages["stream"], streams)]
    joined = join(read_received(client.output, "stamps"), sent)
    assert joined.unknown == joined.duplicated == joined.out_of_order == 0
    assert list(joined.place) == list(range(joined.place[0], joined.place[0] + len(joined.place)))
    assert np.count_nonzero(joined.sent["recipients"] == 0) == len(faults) / 2


@every_client
def test_wrong_arguments_are_one_line(name: str, start_client: StartClient) -> None:
    plain = "fix://127.0.0.1"
    for arguments, knobs, expected in (
        ((plain, "port", TRADES), {}, 2),
        ((plain, "80"), {}, 2),
        ((plain, "80", "/SPOT"), {}, 2),
        ((plain, "80", TRADES), {"output": ""}, 2),
        ((plain, "80", TRADES), {"output": "/nowhere/at/all"}, 1),
        ((plain, "80", TRADES), {"sink": "papyrus"}, 127),
    ):
        status, said = start_client(name, *arguments, **knobs).ended()
        assert (status, said.count("\n")) == (expected, 1), (arguments, knobs, said)


@every_client
def test_a_database_holds_the_same(name: str, start_client: StartClient, tmp_path: Path) -> None:
    with market(tmp_path, "--rate", "2000", "--events", "500") as running:
        client = start_client(name, "fix://127.0.0.1", running.port("binance"), TRADES, sink="sqlite_behind")
        client.ended()
        ledger = running.ledger()
    joined = join(read_received(client.output, "sqlite"), ledger.messages[ledger.is_for(0, "fix")])
    assert len(joined.place) == len(joined.messages) > 10
    assert (joined.lost, joined.unknown, joined.duplicated) == (0, 0, 0)
