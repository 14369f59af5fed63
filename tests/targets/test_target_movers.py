"""Özmen's client prints what rose by the threshold and counts every message, with both of his libraries."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

import pytest
from target_serving import PROJECT, load_module
from websockets.sync.server import ServerConnection, serve

from feedbench.commands import environment, fill
from feedbench.target import Target

pytestmark = pytest.mark.end_to_end
both = pytest.mark.parametrize("name", ["python/websockets", "python/tornado"])


def kline(symbol: str, opened: str, close: str) -> str:
    """As Binance's combined streams send it."""
    data = {"e": "kline", "s": symbol, "k": {"i": "1h", "o": opened, "c": close}}
    return json.dumps({"stream": f"{symbol.lower()}@kline_1h", "data": data})


@contextmanager
def relaying(messages: Sequence[str], *, stays: bool = False) -> Iterator[str]:
    """A relay's /feed that sends these and closes, or stays; its URL."""
    ended = threading.Event()

    def send(connection: ServerConnection) -> None:
        for message in messages:
            connection.send(message)
        if stays:
            ended.wait(20)

    with serve(send, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/feed"
        finally:
            ended.set()
            server.shutdown()


@pytest.fixture
def start(built: Callable[[str], Target]) -> Callable[..., subprocess.Popen[str]]:
    def started(name: str, *arguments: str) -> subprocess.Popen[str]:
        target = built(name)
        return subprocess.Popen(
            [*fill(("{build}/bin/python",), target=target, project=PROJECT), "print_movers.py", *arguments],
            cwd=target.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


@both
def test_what_reaches_the_threshold_is_printed_and_all_is_counted(
    name: str, start: Callable[..., subprocess.Popen[str]]
) -> None:
    messages = [
        kline("BTCUSDT", "100.0", "101.5"),
        kline("ETHUSDT", "100.0", "101.49"),
        kline("XRPUSDT", "2.0", "1.0"),
        kline("SOLUSDT", "50", "75"),
        "no JSON",
        kline("ADAUSDT", "0", "1"),
    ]
    with relaying(messages) as url:
        said, talk = start(name, url).communicate(timeout=20)
    assert said.splitlines() == ["BTCUSDT +1.50 %", "SOLUSDT +50.00 %"]
    assert talk.splitlines() == [
        "6 messages, 2 movers, 2 that are no candle",
        f"{url}: the relay closed the connection",
    ]


@both
def test_the_threshold_can_be_zero_as_in_the_studys_other_test(
    name: str, start: Callable[..., subprocess.Popen[str]]
) -> None:
    with relaying([kline("A", "1", "1"), kline("B", "1", "0.99")]) as url:
        said, talk = start(name, url, "--threshold", "0").communicate(timeout=20)
    assert said == "A +0.00 %\n"
    assert talk.startswith("2 messages, 1 movers\n")


@both
def test_sigterm_ends_it_with_its_count(name: str, start: Callable[..., subprocess.Popen[str]]) -> None:
    with relaying([kline("A", "1", "2")], stays=True) as url:
        client = start(name, url)
        assert client.stdout is not None
        assert client.stdout.readline() == "A +100.00 %\n"
        client.send_signal(signal.SIGTERM)
        _, talk = client.communicate(timeout=20)
    assert (client.returncode, talk) == (0, "1 messages, 1 movers\n")


@both
def test_nobody_listens(name: str, start: Callable[..., subprocess.Popen[str]]) -> None:
    client = start(name, "ws://127.0.0.1:1/feed")
    _, talk = client.communicate(timeout=20)
    assert client.returncode == 1
    assert talk.splitlines()[1].startswith("ws://127.0.0.1:1/feed: ")
    assert len(talk.splitlines()) == 2


@pytest.fixture(scope="module")
def movers() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PROJECT.targets / "python" / "_support")
        yield load_module("python/_support/movers.py")


@pytest.mark.parametrize(
    "message", ['{"k": []}', "[]", '{"data": 5}', '{"s": "A", "k": {"o": "x", "c": 1}}', b"\xff"]
)
def test_what_is_no_candle_is_none(movers: ModuleType, message: str | bytes) -> None:
    assert movers.parse(message) is None


def test_a_candle_may_come_alone(movers: ModuleType) -> None:
    assert movers.parse('{"s": "A", "k": {"o": "2", "c": "3"}}') == movers.Candle("A", 2.0, 3.0)
