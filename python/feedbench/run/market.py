"""The exchange of one round, for whoever follows it: feed clients or relays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from feedbench.feed.exchange import Exchange, run_exchange
from feedbench.feed.settings import Feed
from feedbench.network_path import lay_path
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.run.context import Context
from feedbench.run.request import driven_ns, round_seed

EXCHANGE_GRACE_NS = 30_000_000_000


def feed_of(plan: Plan, cell: Cell) -> Feed:
    """What its exchange sends."""
    feed = plan.condition(cell.condition).load.feed
    assert feed is not None, "the round's client is an exchange"
    return feed


def market_ns(plan: Plan, feed: Feed, clients: int) -> int:
    """In slices each client has its own time."""
    return driven_ns(plan) * (clients if feed.design == "sliced" else 1)


@contextmanager
def open_exchange(
    context: Context,
    block: Block,
    round_: Round,
    feed: Feed,
    *,
    duration_ns: int,
    wait_for: int,
    ledger: Path,
    spins: bool,
) -> Iterator[Exchange]:
    """A fresh exchange on the engine's CPU, and the network before it; its market opens for `wait_for`
    connections.
    """
    seed, logs, shape = round_seed(block, round_), context.logs(block), feed.path_shape
    with ExitStack() as stack:
        here = there = None
        if shape is not None:
            log = logs / f"{ledger.stem}.network.log"
            here, there = stack.enter_context(
                lay_path(context.project.path_emulator, shape, seed=seed, log=log)
            )
        exchange = stack.enter_context(
            run_exchange(
                context.project.exchange,
                feed,
                seed=seed,
                duration_ns=duration_ns,
                wait_for=wait_for,
                slice_ns=context.plan.protocol.slice_ns if feed.design == "sliced" else None,
                ledger=ledger,
                log=logs / f"{ledger.stem}.exchange.log",
                cpus=context.pinning.engine,
                spins=spins,
                end=there,
            )
        )
        yield replace(exchange, client_end=here)
