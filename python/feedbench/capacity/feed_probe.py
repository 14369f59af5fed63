"""One experiment of the search for a feed client's breaking rate: an exchange sends at a rate for a moment,
and what the client took down is held against the ledger.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from feedbench.analyze.quantiles import minimum_count, parse_quantile
from feedbench.capacity.probe import Limit
from feedbench.errors import EngineError, RunDirectoryError
from feedbench.feed.client import FeedClient, settings_of, start_client
from feedbench.feed.exchange import Exchange, run_exchange
from feedbench.feed.ledger import read_ledger
from feedbench.feed.measured import Window, measure
from feedbench.feed.received import SUFFIXES, read_received
from feedbench.feed.settings import Feed
from feedbench.host.pinning import Pinning
from feedbench.host.process import end_process, has_ended
from feedbench.load import FEED_TIMEOUT_NS
from feedbench.paths import Project
from feedbench.protocol import Expect
from feedbench.run.feed_result import feed_summaries, judge_feed
from feedbench.run.status import Outcome
from feedbench.target import Target

START_DEADLINE_S = 30.0
# Of an exchange: it opens on a whole second, and gives its clients time to read what is on its way.
GRACE_S = 60.0
# Arrivals are random: so many more are asked for than the quantile needs that there are hardly ever too few.
ENOUGH = 1.3
LEDGER = "ledger"

Result = Mapping[str, Any]
Beside = Callable[[int], AbstractContextManager[None]]


@dataclass(frozen=True)
class FeedProbe:
    """Who follows what, and for how long. `feed.rate_per_s` is what the experiments vary; `knobs` are the
    client's.
    """

    project: Project
    target: Target
    feed: Feed
    warmup_ns: int
    measure_ns: int
    knobs: Mapping[str, str]
    pinning: Pinning
    seed: int = 1

    def measure(self, rate_per_s: int) -> Result:
        """What came of it, as load.json says it: `verdict`, `cause` and the summaries of three times.

        A client that loses messages, breaks or never ends has failed at that rate. TargetError when it can't
        even be started, EngineError when the exchange does not do its part.
        """
        with TemporaryDirectory(prefix="feedbench-capacity-") as name:
            folder = Path(name)
            client = self.follow(rate_per_s, folder)
            return {"url": self.target.name, **self._judged(client, folder)}

    def follow(self, rate_per_s: float, folder: Path, *, beside: Beside | None = None) -> FeedClient:
        """A fresh exchange and a fresh client, from the opening of the market until both have ended; they
        leave LEDGER and the client's record in `folder`. `beside` is given the exchange's port, and lasts as
        long.
        """
        feed = replace(self.feed, rate_per_s=rate_per_s)
        cpus = self.pinning
        exchange_runs = run_exchange(
            self.project.exchange,
            feed,
            seed=self.seed,
            duration_ns=self.warmup_ns + self.measure_ns,
            wait_for=1,
            slice_ns=None,
            ledger=folder / LEDGER,
            log=folder / "exchange.log",
            cpus=cpus.engine,
            spins=bool(cpus.engine) and cpus.engine != cpus.targets,
        )
        with exchange_runs as exchange, beside(exchange.address(feed).port) if beside else nullcontext():
            client = self._started(exchange, feed, folder)
            try:
                client.wait_connected(deadline_s=START_DEADLINE_S)
                self._await(exchange)
                has_ended(client.process, within_s=FEED_TIMEOUT_NS / 1e9)
            finally:
                end_process(client.process, first=signal.SIGKILL, grace_s=1.0)
        return client

    def _started(self, exchange: Exchange, feed: Feed, folder: Path) -> FeedClient:
        sink = self.knobs.get("sink", "stamps")
        return start_client(
            self.target,
            exchange.address(feed),
            project=self.project,
            output=folder / f"record{SUFFIXES[sink]}",
            log=folder / "client.log",
            knobs=self.knobs,
            settings=settings_of(subscribe=feed.subscribe, ca_file=exchange.ca_file),
            cpus=self.pinning.targets,
        )

    def _await(self, exchange: Exchange) -> None:
        if not has_ended(exchange.process, within_s=(self.warmup_ns + self.measure_ns) / 1e9 + GRACE_S):
            raise EngineError("the exchange did not end in time", where=str(self.project.exchange))

    def _judged(self, client: FeedClient, folder: Path) -> Result:
        try:
            received = read_received(client.output, client.sink)
        except RunDirectoryError as error:
            return _failed(str(error))
        ledger = read_ledger(folder / LEDGER)
        if not ledger.complete:
            raise EngineError("the exchange left an incomplete ledger", where=str(self.project.exchange))
        window = Window(warmup_ns=self.warmup_ns, sliced=False, drop_ns=0)
        found = measure(received, ledger, 0, window)
        outcome = judge_feed(found, Expect())
        if received.killed:
            outcome = Outcome("failed", "it did not end when the exchange had closed the connection")
        return {
            "verdict": outcome.verdict,
            "cause": outcome.cause,
            "sent": len(found.measured) + found.lost,
            **feed_summaries(found.measured),
        }


def _failed(cause: str) -> Result:
    return {"verdict": "failed", "cause": cause, "sent": 0}


def least_rate(limit: Limit, measure_s: float) -> int:
    """Below it too few messages come for the limit's quantile."""
    return math.ceil(ENOUGH * minimum_count(parse_quantile(limit.quantile)) / measure_s)


@dataclass
class FeedExperiment:
    """`measure` at a rate, judged by `limit`; `results` keeps what came of each rate."""

    measure: Callable[[int], Result]
    limit: Limit
    results: dict[int, list[Result]] = field(default_factory=dict)

    def holds(self, rate_per_s: int) -> bool:
        result = self.measure(rate_per_s)
        self.results.setdefault(rate_per_s, []).append(result)
        return self.limit.kept(result)

    def exchange_was_late(self, value: int) -> bool:
        """Whether at the next rate that was tried above `value` it was the exchange that was late: had it
        sent in time, the client would have held.
        """
        above = [rate for rate in self.results if rate > value]
        late = [result for result in self.results[min(above)] if not self.limit.kept(result)] if above else []
        return bool(late) and all(self.limit.kept(_since_sent(result)) for result in late)

    def messages_per_s(self, value: int, measure_s: float) -> float:
        """What the market's rate was in messages of the stream."""
        sent = [result["sent"] for result in self.results.get(value, ()) if result["sent"]]
        return median(sent) / measure_s if sent else 0.0


def _since_sent(result: Result) -> Result:
    return {**result, "latency_ns": result.get("latency_from_send_ns")}
