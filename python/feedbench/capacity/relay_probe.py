"""One experiment of the search for a relay's subscribers: an exchange sends for a moment, and what all of the
relay's clients received is held against the ledger.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from feedbench.capacity.feed_probe import GRACE_S, LEDGER, START_DEADLINE_S, Result
from feedbench.errors import EngineError
from feedbench.feed.client import settings_of
from feedbench.feed.exchange import Exchange, run_exchange
from feedbench.feed.ledger import read_ledger
from feedbench.feed.measured import Window
from feedbench.feed.receipts import read_receipts
from feedbench.feed.relay import UPSTREAM_KNOB, Relay, Upstream
from feedbench.feed.relay_measured import measure_relay
from feedbench.feed.relay_process import RelayProcess, start_relay
from feedbench.feed.settings import Feed
from feedbench.feed.subscribers import run_subscribers
from feedbench.host.pinning import Pinning
from feedbench.host.process import end_process, has_ended
from feedbench.paths import Project
from feedbench.protocol import Expect
from feedbench.run.feed_result import feed_summaries
from feedbench.run.relay_result import judge_relay
from feedbench.target import Target


@dataclass(frozen=True)
class RelayProbe:
    """Which relay follows what, and for how long. The number of its clients is what the experiments vary."""

    project: Project
    target: Target
    feed: Feed
    upstream: Upstream
    warmup_ns: int
    measure_ns: int
    knobs: Mapping[str, str]
    pinning: Pinning
    seed: int = 1

    def measure(self, clients: int) -> Result:
        """What came of it, as load.json says it: `verdict`, `cause` and the summaries of three times.

        A relay that loses messages, dies or can't take so many clients has failed at that number. TargetError
        when it can't even be started, EngineError when the exchange does not do its part.
        """
        relay = Relay(clients=clients, upstream=self.upstream, fault="none")
        with TemporaryDirectory(prefix="feedbench-capacity-") as name:
            folder = Path(name)
            trouble = self._follow(relay, folder)
            judged = _failed(trouble) if trouble else self._judged(relay, folder)
            return {"url": self.target.name, **judged}

    def _follow(self, relay: Relay, folder: Path) -> str | None:
        """A fresh exchange, relay and clients until the market's end; they leave LEDGER and the receipts.

        What the relay could not do, if there was something.
        """
        with ExitStack() as stack:
            exchange = stack.enter_context(
                run_exchange(
                    self.project.exchange,
                    self.feed,
                    seed=self.seed,
                    duration_ns=self.warmup_ns + self.measure_ns,
                    wait_for=relay.connections + 1,
                    slice_ns=None,
                    ledger=folder / LEDGER,
                    log=folder / "exchange.log",
                    cpus=self.pinning.engine,
                    spins=False,  # its CPU is also that of the clients
                )
            )
            process = self._started(exchange, relay, folder)
            stack.callback(end_process, process.process, first=signal.SIGTERM, grace_s=2.0)
            process.wait_listening(deadline_s=START_DEADLINE_S)
            try:
                subscribers = stack.enter_context(
                    run_subscribers(
                        self.project.engine,
                        process.url,
                        count=relay.clients,
                        receipts=folder / "clients",
                        log=folder / "clients.log",
                        cpus=self.pinning.engine,
                        deadline_s=START_DEADLINE_S,
                    )
                )
            except EngineError as error:
                return str(error)
            self._open(exchange, folder, stack)
            if not has_ended(exchange.process, within_s=(self.warmup_ns + self.measure_ns) / 1e9 + GRACE_S):
                raise EngineError("the exchange did not end in time", where=str(self.project.exchange))
            if has_ended(process.process):
                return str(process.death())
            subscribers.finish()
        return None

    def _started(self, exchange: Exchange, relay: Relay, folder: Path) -> RelayProcess:
        return start_relay(
            self.target,
            exchange.address(self.feed),
            project=self.project,
            entered=None,
            log=folder / "relay.log",
            knobs={**self.knobs, "upstream": UPSTREAM_KNOB[relay.upstream]},
            settings=settings_of(subscribe=self.feed.subscribe, ca_file=exchange.ca_file),
            cpus=self.pinning.targets,
        )

    def _open(self, exchange: Exchange, folder: Path, stack: ExitStack) -> None:
        """By the last subscriber that the exchange waits for: everybody else is connected then."""
        stack.enter_context(
            run_subscribers(
                self.project.engine,
                exchange.url(self.feed),
                count=1,
                receipts=folder / "witness",
                log=folder / "witness.log",
                options=[option for text in self.feed.subscribe for option in ("--send", text)],
                cpus=self.pinning.engine,
                deadline_s=START_DEADLINE_S,
            )
        )

    def _judged(self, relay: Relay, folder: Path) -> Result:
        ledger = read_ledger(folder / LEDGER)
        if not ledger.complete:
            raise EngineError("the exchange left an incomplete ledger", where=str(self.project.exchange))
        window = Window(warmup_ns=self.warmup_ns, sliced=False, drop_ns=0)
        found = measure_relay(read_receipts(folder / "clients"), None, ledger, 0, window, relay)
        outcome = judge_relay(found, Expect())
        return {
            "verdict": outcome.verdict,
            "cause": outcome.cause,
            "sent": len(found.measured) + found.lost,
            **feed_summaries(found.measured),
        }


def _failed(cause: str) -> Result:
    return {"verdict": "failed", "cause": cause, "sent": 0}
