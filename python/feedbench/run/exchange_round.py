"""A round in which feed clients follow an exchange: both are fresh, and each client's own record says what it
had when. The ledger says what it should have had, and since when that was true.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from feedbench.errors import RunDirectoryError, TargetError
from feedbench.feed.client import FeedClient, settings_of, start_client
from feedbench.feed.exchange import Exchange, run_exchange
from feedbench.feed.ledger import Ledger, read_ledger
from feedbench.feed.measured import Window, measure
from feedbench.feed.received import SUFFIXES, read_received
from feedbench.feed.settings import Feed
from feedbench.host.process import end_process, has_ended
from feedbench.launch import UnsupportedError
from feedbench.load import FEED_TIMEOUT_NS
from feedbench.paths import write_json
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.run.context import Context
from feedbench.run.feed_result import judge_feed, load_document, window_of
from feedbench.run.fleet import Fleet, Start
from feedbench.run.interruption import Interrupted
from feedbench.run.measured import INTERRUPTED, Measured
from feedbench.run.request import NS_PER_S, driven_ns, round_seed
from feedbench.run.resources import TreeReading, Usage, read_tree
from feedbench.run.status import Outcome
from feedbench.run.watch import Alarm, watch
from feedbench.samples import write_samples

# Clients are read just before the end of the market: when it has ended, so have they.
READING_SHARE = 0.95
EXCHANGE_GRACE_NS = 30_000_000_000


def measure_by_exchange(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> None:
    """Starts an exchange and the clients of `cells`; a client that does not get there costs only its cell.

    The market opens for so many subscribers as there are, so without one of them all begin anew.
    """
    able = list(cells)
    while able and not context.interruption.asked:
        failed = _follow(context, block, round_, able, fleet, measured)
        if failed is None:
            return
        able.remove(failed)


def _follow(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> Cell | None:
    """One try with all of `cells`; the one whose client could not be started, None when all could."""
    plan = context.plan
    feed = feed_of(plan, cells[0])
    logs = context.logs(block)
    ledger = context.directory.block(block.index) / f"{round_.id}.ledger"
    ordered = sorted(cells, key=lambda cell: block.start_order.index(cell.process))
    with ExitStack() as stack:
        exchange = stack.enter_context(
            run_exchange(
                context.project.exchange,
                feed,
                seed=round_seed(block, round_),
                duration_ns=_market_ns(plan, feed, len(cells)),
                wait_for=len(cells),
                slice_ns=plan.protocol.slice_ns if feed.design == "sliced" else None,
                ledger=ledger,
                log=logs / f"{round_.id}.exchange.log",
                cpus=context.pinning.engine,
                spins=bool(context.pinning.engine) and context.pinning.engine != context.pinning.targets,
            )
        )
        clients: dict[str, FeedClient] = {}
        for cell in ordered:
            try:
                with context.interruption.raising():
                    clients[cell.id] = _start(context, block, cell, feed, exchange, fleet, stack)
            except Interrupted:
                return None
            except TargetError as error:
                unsupported = isinstance(error, UnsupportedError)
                measured.outcomes[cell.id] = Outcome("unsupported" if unsupported else "failed", str(error))
                return cell
        # Without one that left meanwhile the market would never open.
        for cell in ordered:
            if has_ended(clients[cell.id].process):
                measured.outcomes[cell.id] = Outcome("failed", str(clients[cell.id].death()))
                return cell
        _watch(context, exchange, clients, measured, cells)
        troubles = {name: _ended(client) for name, client in clients.items()}
    measured.outcomes |= {name: trouble for name, trouble in troubles.items() if trouble is not None}
    if any(cell.id not in measured.outcomes for cell in ordered):
        _record_all(context, ordered, clients, ledger, measured)
    return None


def _record_all(
    context: Context,
    cells: Sequence[Cell],
    clients: Mapping[str, FeedClient],
    ledger_file: Path,
    measured: Measured,
) -> None:
    """`cells` in the order of their connections."""
    plan = context.plan
    window = window_of(plan.protocol, feed_of(plan, cells[0]), len(cells))
    try:
        ledger = read_ledger(ledger_file)
    except RunDirectoryError as error:
        measured.outcomes |= {cell.id: Outcome("failed", str(error)) for cell in cells}
        return
    for connection, cell in enumerate(cells):
        if cell.id in measured.outcomes:
            continue
        if not ledger.complete:
            measured.outcomes[cell.id] = Outcome("failed", "the exchange left an incomplete ledger")
            continue
        measured.outcomes[cell.id] = _record(context, cell, clients[cell.id], ledger, connection, window)


def feed_of(plan: Plan, cell: Cell) -> Feed:
    """What its exchange sends."""
    feed = plan.condition(cell.condition).load.feed
    assert feed is not None, "the round's client is an exchange"
    return feed


def _market_ns(plan: Plan, feed: Feed, cells: int) -> int:
    """In slices each client has its own time."""
    return driven_ns(plan) * (cells if feed.design == "sliced" else 1)


def _start(
    context: Context,
    block: Block,
    cell: Cell,
    feed: Feed,
    exchange: Exchange,
    fleet: Fleet,
    stack: ExitStack,
) -> FeedClient:
    """One after the other, so that the order of starting is that of the ledger's connections."""
    folder = context.folder(block, cell.id)
    for stale in folder.iterdir():  # of a try that one of the others spoiled
        stale.unlink()
    process = context.plan.process(cell.process)
    context.told(f"starting {cell.id}")
    client = start_client(
        context.registry.get(cell.target),
        exchange.address(feed),
        project=context.project,
        output=folder / f"{process.id}@{feed.exchange}{SUFFIXES[process.knobs.get('sink', 'stamps')]}",
        log=context.logs(block) / f"{cell.id}.client.log",
        knobs=process.knobs,
        settings=settings_of(subscribe=feed.subscribe, ca_file=exchange.ca_file),
        cpus=context.pinning.targets,
    )
    stack.callback(end_process, client.process, first=signal.SIGTERM, grace_s=2.0)
    start_up_ns = client.wait_connected(deadline_s=context.ready_deadline_s)
    fleet.starts[process.id] = Start(start_up_ns, read_tree(client.process.pid).rss_bytes)
    return client


def _watch(
    context: Context,
    exchange: Exchange,
    clients: Mapping[str, FeedClient],
    measured: Measured,
    cells: Sequence[Cell],
) -> None:
    """Until the market has ended; what clients used is read while they live."""
    plan = context.plan
    market_ns = _market_ns(plan, feed_of(plan, cells[0]), len(cells))
    before = {name: read_tree(client.process.pid) for name, client in clients.items()}
    exchange_before = read_tree(exchange.process.pid)

    def read() -> None:
        after = read_tree(exchange.process.pid)
        measured.engine_run_delay_ns = max(0, after.run_delay_ns - exchange_before.run_delay_ns)
        for name, client in clients.items():
            _note(plan, name, before[name], read_tree(client.process.pid), measured)

    context.told(f"measuring {len(clients)} clients")
    watched = watch(
        exchange.process,
        bystanders={name: client.process for name, client in clients.items()},
        interruption=context.interruption,
        deadline_ns=2 * market_ns + EXCHANGE_GRACE_NS,
        # A market that waited for its subscribers opens on the next whole second.
        alarm=Alarm(NS_PER_S - time.time_ns() % NS_PER_S + int(market_ns * READING_SHARE), read),
        tick=context.tick,
    )
    if watched.interrupted:
        measured.outcomes.update(dict.fromkeys(clients, INTERRUPTED))
    elif watched.overdue:
        overdue = Outcome("failed", "the exchange did not end in time; did a subscriber leave?")
        measured.outcomes.update(dict.fromkeys(clients, overdue))


def _note(plan: Plan, cell_id: str, before: TreeReading, after: TreeReading, measured: Measured) -> None:
    if not after.processes:
        return
    process = plan.cell(cell_id).process
    measured.usages[cell_id] = Usage(
        before=before, after=after, rss_connected_bytes=after.rss_bytes, connections=1
    )
    measured.run_delays_ns[process] = max(0, after.run_delay_ns - before.run_delay_ns)
    measured.targets_cpu_ns += after.cpu_ns - before.cpu_ns


def _ended(client: FeedClient) -> Outcome | None:
    """A client ends when the exchange does, by itself and with a word; what it lost the ledger tells."""
    if not has_ended(client.process, within_s=FEED_TIMEOUT_NS / 1e9):
        return Outcome("failed", "it did not end when the exchange had closed the connection")
    status = client.process.wait()
    if status in (0, 1):
        return None
    return Outcome("failed", str(client.death()))


def _record(
    context: Context, cell: Cell, client: FeedClient, ledger: Ledger, connection: int, window: Window
) -> Outcome:
    """Writes samples.fbs and load.json beside the record of a client that ended well."""
    plan, folder = context.plan, client.output.parent
    try:
        received = read_received(client.output, client.sink)
    except RunDirectoryError as error:
        return Outcome("failed", str(error))
    if received.killed:
        return Outcome("failed", "its record has no end: it was killed, or wrote no end record")
    found = measure(received, ledger, connection, window)
    write_samples(folder / "samples.fbs", found.measured, name=cell.id, drop_first=plan.protocol.drop_first)
    load = plan.condition(cell.condition).load
    write_json(folder / "load.json", load_document(found, name=cell.id, load=load, protocol=plan.protocol))
    return judge_feed(found, plan.expect)
