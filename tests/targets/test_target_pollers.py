"""Pollers keep to their contract, and the age of what they are told is what polling makes it
(spec/feed.md).
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from target_serving import PROJECT, REGISTRY
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from feedbench.commands import environment, fill
from feedbench.doors.polling import Answer, PollingLaw, answers, polling_law
from feedbench.feed.ledger import read_ledger
from feedbench.feed.stamps import Kind, Stamps, read_stamps
from feedbench.target import Target

DEADLINE_S = 60
# A runtime that compiles while it runs is slow at first, and on one side of the round trip only.
WARM_UP_POLLS = 20
POLLERS = [target.name for target in REGISTRY.targets if target.poller_command is not None]
every_poller = pytest.mark.parametrize("name", POLLERS)
TICKER = "/api/v3/ticker/24hr?symbol=BTCUSDT"


@dataclass
class Poller:
    """A running one and its record."""

    process: subprocess.Popen[str]
    output: Path

    def stamps(self) -> Stamps:
        return read_stamps(self.output)

    def answers(self) -> list[Answer]:
        return list(answers(self.stamps()))

    def wait_for(self, count: int) -> list[Answer]:
        """Until it has so many answers."""
        give_up = time.monotonic() + DEADLINE_S
        while not self.output.exists() or len(self.answers()) < count:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < give_up, "it does not ask"
            time.sleep(0.02)
        return self.answers()

    def end(self) -> tuple[int, str]:
        """By SIGTERM: status and what it said."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, said


StartPoller = Callable[..., Poller]


@pytest.fixture
def start_poller(built: Callable[[str], Target], tmp_path: Path) -> Iterator[StartPoller]:
    """`start_poller("python/httpx", "http://127.0.0.1", 8080, "/path", poll_interval_ns="1000000")`."""
    with ExitStack() as stack:

        def begin(name: str, host: str, port: int | str, stream: str, **knobs: str) -> Poller:
            target = built(name)
            assert target.poller_command is not None
            output = tmp_path / f"{len(list(tmp_path.glob('*.stamps')))}.stamps"
            process = stack.enter_context(
                subprocess.Popen(
                    [*fill(target.poller_command, target=target, project=PROJECT),
                     "exchange", host, str(port), stream],
                    cwd=target.folder,
                    env=environment({"output": str(output), **knobs}),
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )  # fmt: skip
            stack.callback(process.kill)
            return Poller(process, output)

        yield begin


@contextmanager
def scripted(*script: tuple[int, Mapping[str, str], bytes]) -> Iterator[tuple[int, list[tuple[float, str]]]]:
    """A server that gives one answer after the other and the last for ever; its port, and what it was
    asked.
    """
    asked: list[tuple[float, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append((time.monotonic(), f"{self.client_address[1]} {self.path}"))
            status, headers, body = script[min(len(asked), len(script)) - 1]
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()


@every_poller
def test_it_records_every_answer_and_ends_when_asked(name: str, start_poller: StartPoller) -> None:
    with scripted((200, {}, b'{"a":"\xc3\xa9"}')) as (port, asked):
        before_ns = time.monotonic_ns()
        poller = start_poller(name, "http://127.0.0.1", port, "/a/b?c=d", poll_interval_ns="2000000")
        poller.wait_for(20)
        assert poller.end() == (0, "")
        stamps = poller.stamps()
        assert [stamps.heads["kind"][0], stamps.heads["kind"][-1]] == [Kind.CONNECTED, Kind.END]
        assert stamps.reasons == [""]
        recorded = poller.answers()
        assert len(recorded) in (len(asked), len(asked) - 1)  # one may have been under way
        assert {(each.status, each.body) for each in recorded} == {(200, b'{"a":"\xc3\xa9"}')}
        moments = [moment for each in recorded for moment in (each.sent_ns, each.received_ns)]
        assert moments == sorted(moments)
        assert before_ns < moments[0]
        assert moments[-1] < time.monotonic_ns()
        # One connection, kept, and the request as it was given.
        assert len({request.split()[0] for _, request in asked}) == 1
        assert {request.split()[1] for _, request in asked} == {"/a/b?c=d"}


@every_poller
def test_it_asks_no_sooner_than_its_interval(name: str, start_poller: StartPoller) -> None:
    with scripted((200, {}, b"{}")) as (port, _):
        recorded = start_poller(name, "http://127.0.0.1", port, "/", poll_interval_ns="60000000").wait_for(10)
    gaps_ns = [after.sent_ns - before.sent_ns for before, after in pairwise(recorded)]
    # A millisecond for timers that count in them.
    assert min(gaps_ns) > 59_000_000


@every_poller
def test_it_waits_as_retry_after_says(name: str, start_poller: StartPoller) -> None:
    refusal = (429, {"Retry-After": "1"}, b"slower")
    with scripted((200, {}, b"{}"), refusal, (200, {}, b"{}")) as (port, _):
        recorded = start_poller(name, "http://127.0.0.1", port, "/", poll_interval_ns="1000000").wait_for(4)
    assert [each.status for each in recorded[:4]] == [200, 429, 200, 200]
    assert recorded[1].body == b"slower"
    assert recorded[2].sent_ns - recorded[1].received_ns > 990_000_000
    assert recorded[3].sent_ns - recorded[2].sent_ns < 900_000_000


@every_poller
def test_an_end_that_nobody_asked_for_has_a_reason(name: str, start_poller: StartPoller) -> None:
    with scripted((200, {}, b"{}")) as (port, _):
        free_port = port
    nobody = start_poller(name, "http://127.0.0.1", free_port, "/")
    _, said = nobody.process.communicate(timeout=DEADLINE_S)
    assert (nobody.process.returncode, said.count("\n")) == (1, 1), said
    assert said.startswith("cannot connect to http://127.0.0.1")
    with scripted((200, {}, b"{}"), (200, {"Content-Length": "99", "Connection": "close"}, b"{}")) as (
        port,
        _,
    ):
        lost = start_poller(name, "http://127.0.0.1", port, "/")
        _, said = lost.process.communicate(timeout=DEADLINE_S)
    assert (lost.process.returncode, said[:6], said.count("\n")) == (1, "lost: ", 1), said
    assert lost.stamps().reasons == [said.strip()]


@every_poller
def test_wrong_arguments_are_one_line(name: str, start_poller: StartPoller) -> None:
    for port, knobs, status in (
        ("http", {}, 2),
        ("80", {"http": "3"}, 127),
        ("80", {"poll_interval_ns": "soon"}, 127),
        ("80", {"output": ""}, 2),
        ("80", {"output": "/nowhere/at/all"}, 1),
    ):
        wrong = start_poller(name, "http://127.0.0.1", port, "/", **knobs)
        _, said = wrong.process.communicate(timeout=DEADLINE_S)
        assert (wrong.process.returncode, said.count("\n")) == (status, 1), (port, knobs, said)


@every_poller
def test_the_exit_file_ends_it(name: str, start_poller: StartPoller, tmp_path: Path) -> None:
    with scripted((200, {}, b"{}")) as (port, _):
        poller = start_poller(name, "http://127.0.0.1", port, "/", exit_file=str(tmp_path / "exit"))
        poller.wait_for(1)
        (tmp_path / "exit").touch()
        _, said = poller.process.communicate(timeout=DEADLINE_S)
    assert (poller.process.returncode, said) == (0, "")


@contextmanager
def market(folder: Path, *arguments: str) -> Iterator[dict[str, Any]]:
    """A Binance of one symbol whose trades somebody listens to, so that its ledger tells of each one's
    birth.
    """
    if not PROJECT.exchange.exists():
        pytest.skip("the exchange is not built (make setup)")
    command = [
        *(str(PROJECT.exchange), "--personality", "binance", "--symbols", "1", "--rate", "2000", "--json"),
        *("--certificates", str(folder / "ca"), "--ledger", str(folder / "run.ledger"), *arguments),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            beginning = json.loads(process.stdout.readline())
            with connect(beginning["urls"]["binance"]["ws"] + "/ws/btcusdt@trade", proxy=None) as listener:
                threading.Thread(target=_drain, args=(listener,), daemon=True).start()
                yield beginning
                process.terminate()
                process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()


def _drain(listener: Any) -> None:
    with suppress(ConnectionClosed):
        for _ in listener:
            pass


def law_of(folder: Path, poller: Poller, *, late_ns: int = 0) -> PollingLaw:
    """Of the trades that the poller was told of, by the exchange's ledger."""
    ledger = read_ledger(folder / "run.ledger")
    births = {int(each["sequence"]): int(each["born_ns"]) - late_ns for each in ledger.messages}
    polls = [(each, json.loads(each.body)["lastId"]) for each in poller.answers() if each.status == 200]
    return polling_law(polls[WARM_UP_POLLS:], births)


@every_poller
@pytest.mark.parametrize("http", ["1.1", "2"])
def test_the_age_over_rest_is_what_polling_makes_it(
    name: str, http: str, start_poller: StartPoller, tmp_path: Path
) -> None:
    """The laboratory's own test: on one clock, without batching, age = U(0, interval) + RTT/2."""
    if http not in REGISTRY.get(name).knobs["http"]:
        pytest.skip(f"{name} does not do HTTP/{http}")
    with market(tmp_path) as beginning:
        if http == "2":  # not every library does without TLS
            host, port = "127.0.0.1", beginning["urls"]["binance"]["rest_tls"].rsplit(":", 1)[1]
        else:
            host, port = beginning["urls"]["binance"]["rest"].rsplit(":", 1)
        knobs = {"poll_interval_ns": "50000000", "http": http, "ca_file": beginning["ca"]}
        poller = start_poller(name, host, port, TICKER, **knobs)
        poller.wait_for(60 + WARM_UP_POLLS)
        assert poller.end() == (0, "")
    law = law_of(tmp_path, poller)
    assert law.events > 200
    assert law.holds, law
    assert law.uniform_p > 1e-4, law
    # Events that were told a whole interval late, by the next answer, would have been noticed.
    assert not law_of(tmp_path, poller, late_ns=50_000_000).holds


@every_poller
def test_http2_without_tls_is_by_prior_knowledge_or_refused(
    name: str, start_poller: StartPoller, tmp_path: Path
) -> None:
    if "2" not in REGISTRY.get(name).knobs["http"]:
        pytest.skip(f"{name} does not do HTTP/2")
    with market(tmp_path) as beginning:
        host, port = beginning["urls"]["binance"]["rest"].rsplit(":", 1)
        poller = start_poller(name, host, port, TICKER, http="2")
        with suppress(subprocess.TimeoutExpired):
            _, said = poller.process.communicate(timeout=3)
            assert (poller.process.returncode, said.count("\n")) == (127, 1), said
            return
        assert {each.status for each in poller.wait_for(3)} == {200}


@every_poller
def test_it_polls_over_tls_too(name: str, start_poller: StartPoller, tmp_path: Path) -> None:
    with market(tmp_path) as beginning:
        port = beginning["urls"]["binance"]["rest_tls"].rsplit(":", 1)[1]
        for http in REGISTRY.get(name).knobs["http"]:
            poller = start_poller(name, "127.0.0.1", port, TICKER, http=http, ca_file=beginning["ca"])
            assert {each.status for each in poller.wait_for(3)} == {200}
            assert poller.end() == (0, "")
        # Without the authority nobody is believed.
        stranger = start_poller(name, "127.0.0.1", port, TICKER)
        _, said = stranger.process.communicate(timeout=DEADLINE_S)
        assert stranger.process.returncode == 1
        assert said.startswith("cannot connect to https://127.0.0.1")
