"""A round in which feed clients follow an exchange: both are fresh, and each client's own record says what it
had when. The ledger says what it should have had, and since when that was true.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from feedbench.errors import RunDirectoryError, TargetError
from feedbench.feed.client import FeedClient, settings_of, start_client
from feedbench.feed.exchange import Exchange
from feedbench.feed.ledger import Ledger, read_ledger
from feedbench.feed.measured import Window, measure
from feedbench.feed.received import SUFFIXES, read_received
from feedbench.feed.settings import JSON, Feed
from feedbench.host.process import end_process, has_ended
from feedbench.launch import UnsupportedError
from feedbench.load import FEED_TIMEOUT_NS
from feedbench.paths import write_json
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.run.context import Context
from feedbench.run.feed_result import judge_feed, load_document, window_of
from feedbench.run.fleet import Fleet, Start
from feedbench.run.interruption import Interrupted
from feedbench.run.market import EXCHANGE_GRACE_NS, feed_of, market_ns, open_exchange
from feedbench.run.measured import INTERRUPTED, Measured
from feedbench.run.poll_result import has_answers, record_pollers
from feedbench.run.request import NS_PER_S, driven_ns
from feedbench.run.resources import TreeReading, Usage, read_tree
from feedbench.run.status import Outcome
from feedbench.run.watch import Alarm, watch
from feedbench.samples import write_samples
from feedbench.target import Door

# A poller whose machine is busy is left to ask on for at most so long, until it has some answers to show.
FEWEST_ANSWERS_NS = 60_000_000_000
LOOK_AGAIN_NS = 200_000_000
# Clients are read just before the end of the market: when it has ended, so have they.
READING_SHARE = 0.95


def measure_by_exchange(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> None:
    """Starts an exchange and the clients of `cells`; a client that does not get there costs only its cell.

    The market opens for so many subscribers as there are, so without one of them all begin anew.
    """
    able = list(cells)
    while able and not context.interruption.asked:
        if all(door_of(context, cell) == "rest" for cell in able):
            alone = Outcome("failed", "nobody is left who listens, so nothing tells when events were born")
            measured.outcomes |= {cell.id: alone for cell in able}
            return
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
    ledger = context.directory.block(block.index) / f"{round_.id}.ledger"
    ordered = sorted(cells, key=lambda cell: block.start_order.index(cell.process))
    pollers = [cell for cell in ordered if door_of(context, cell) == "rest"]
    listeners = [cell for cell in ordered if cell not in pollers]
    lasts_ns = market_ns(plan, feed, len(listeners))
    ask_afterwards = bool(pollers) and feed.design == "sliced"
    with ExitStack() as stack:
        exchange = stack.enter_context(
            open_exchange(
                context,
                block,
                round_,
                feed,
                duration_ns=lasts_ns + (_asking_ns(context, len(pollers)) if ask_afterwards else 0),
                wait_for=len(listeners),
                ledger=ledger,
                spins=bool(context.pinning.engine) and context.pinning.engine != context.pinning.targets,
            )
        )
        start = partial(_start, context, block, feed=feed, exchange=exchange, fleet=fleet, stack=stack)
        clients: dict[str, FeedClient] = {}
        # Who asks opens no market, and so begins before those who do; or when their slices are over.
        for cell in listeners if ask_afterwards else [*pollers, *listeners]:
            try:
                with context.interruption.raising():
                    clients[cell.id] = start(cell)
            except Interrupted:
                return None
            except TargetError as error:
                measured.outcomes[cell.id] = _not_started(error)
                return cell
        # Without one that left meanwhile the market would never open.
        for name, client in clients.items():
            if has_ended(client.process):
                measured.outcomes[name] = Outcome("failed", str(client.death()))
                return plan.cell(name)
        late = {cell.id: partial(start, cell) for cell in pollers if cell.id not in clients}
        _watch(context, exchange, clients, measured, lasts_ns, late)
        troubles = {name: _ended(client) for name, client in clients.items()}
        # Totals tell of all connections together, so that nobody among them may have plain messages.
        every = all(_is_compressed(context, cell) for cell in listeners)
        frame_bytes = exchange.frame_bytes() if every else None
    measured.outcomes |= {name: trouble for name, trouble in troubles.items() if trouble is not None}
    unjudged = [cell for cell in ordered if cell.id not in measured.outcomes]
    try:
        found = read_ledger(ledger) if unjudged else None
        trouble = None if found is None or found.complete else "the exchange left an incomplete ledger"
    except RunDirectoryError as error:
        found, trouble = None, str(error)
    if trouble is not None:
        measured.outcomes |= {cell.id: Outcome("failed", trouble) for cell in unjudged}
    elif found is not None:
        _record_all(context, listeners, clients, found, measured, lasts_ns, frame_bytes)
        record_pollers(context, pollers, clients, found, feed, measured)
    return None


def _is_compressed(context: Context, cell: Cell) -> bool:
    """Whether its client offers permessage-deflate to an exchange that accepts it."""
    if feed_of(context.plan, cell).compression == "off" or door_of(context, cell) != "ws":
        return False
    usual = context.registry.get(cell.target).options.get("deflate")
    return context.plan.process(cell.process).knobs.get("deflate", usual) == "on"


def _not_started(error: TargetError) -> Outcome:
    return Outcome("unsupported" if isinstance(error, UnsupportedError) else "failed", str(error))


def _record_all(
    context: Context,
    cells: Sequence[Cell],
    clients: Mapping[str, FeedClient],
    ledger: Ledger,
    measured: Measured,
    lasts_ns: int,
    frame_bytes: float | None,
) -> None:
    """`cells` in the order of their connections; what comes after `lasts_ns` is for those who ask. Messages
    that were compressed took `frame_bytes` each.
    """
    plan = context.plan
    window = replace(window_of(plan.protocol, feed_of(plan, cells[0]), len(cells)), until_ns=lasts_ns)
    for connection, cell in enumerate(cells):
        if cell.id in measured.outcomes:
            continue
        measured.outcomes[cell.id] = _record(
            context, cell, clients[cell.id], ledger, connection, window, frame_bytes
        )


def door_of(context: Context, cell: Cell) -> Door:
    """Through which the cell's client follows its exchange."""
    door = feed_of(context.plan, cell).door_of(context.registry.get(cell.target).doors)
    assert door is not None, "the plan leaves out who has no door"
    return door


def _asking_ns(context: Context, pollers: int) -> int:
    """At most: after the slices pollers are started one after the other, and then ask all together. The
    exchange is ended when they are done.
    """
    return int(pollers * context.ready_deadline_s * NS_PER_S) + driven_ns(context.plan) + FEWEST_ANSWERS_NS


def _start(
    context: Context,
    block: Block,
    cell: Cell,
    *,
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
    door = door_of(context, cell)
    context.told(f"starting {cell.id}")
    client = start_client(
        context.registry.get(cell.target),
        exchange.address(feed, door),
        project=context.project,
        output=folder / f"{process.id}@{feed.exchange}{SUFFIXES[process.knobs.get('sink', 'stamps')]}",
        log=context.logs(block) / f"{cell.id}.client.log",
        knobs=process.knobs,
        settings=settings_of(
            subscribe=feed.subscribe if door == "ws" else (),
            ca_file=exchange.ca_file,
            poll_interval_ns=feed.poll_interval_ns if door == "rest" else None,
            decoder=feed.decoder if door == "ws" and feed.decoder != JSON else None,
        ),
        cpus=context.pinning.targets,
        door=door,
        end=exchange.client_end,
    )
    stack.callback(end_process, client.process, first=signal.SIGTERM, grace_s=2.0)
    start_up_ns = client.wait_connected(deadline_s=context.ready_deadline_s)
    fleet.starts[process.id] = Start(start_up_ns, read_tree(client.process.pid).rss_bytes)
    return client


def _watch(
    context: Context,
    exchange: Exchange,
    clients: dict[str, FeedClient],
    measured: Measured,
    lasts_ns: int,
    late: Mapping[str, Callable[[], FeedClient]],
) -> None:
    """Until the market has ended; what clients used is read while they live. `late` are pollers that are
    started, and added to `clients`, when the slices of the others are over.
    """
    plan = context.plan
    before = {name: read_tree(client.process.pid) for name, client in clients.items()}
    exchange_before = read_tree(exchange.process.pid)
    began_ns = time.monotonic_ns()
    read_already = False

    def read() -> Alarm | None:
        nonlocal read_already
        read_already = True
        after = read_tree(exchange.process.pid)
        measured.engine_run_delay_ns = max(0, after.run_delay_ns - exchange_before.run_delay_ns)
        for name, client in clients.items():
            _note(plan, name, before[name], read_tree(client.process.pid), measured)
        # Slices are over a moment later, whose last messages nobody is to be disturbed in.
        return Alarm(_since(began_ns) + lasts_ns - int(lasts_ns * READING_SHARE), ask) if late else None

    def ask() -> Alarm | None:
        context.told(f"measuring {len(late)} pollers")
        for name, start in late.items():
            try:
                with context.interruption.raising():
                    clients[name] = start()
                before[name] = read_tree(clients[name].process.pid)
            except Interrupted:
                return None
            except TargetError as error:
                measured.outcomes[name] = _not_started(error)
        give_up_ns = time.monotonic_ns() + driven_ns(plan) + FEWEST_ANSWERS_NS
        return Alarm(_since(began_ns) + driven_ns(plan), partial(end, give_up_ns))

    def end(give_up_ns: int) -> Alarm | None:
        asking = {name: clients[name] for name in late if name in clients}
        slow = any(not has_answers(client) for client in asking.values() if not has_ended(client.process))
        if slow and time.monotonic_ns() < give_up_ns:
            return Alarm(_since(began_ns) + LOOK_AGAIN_NS, partial(end, give_up_ns))
        for name, client in asking.items():
            _note(plan, name, before[name], read_tree(client.process.pid), measured)
            end_process(client.process, first=signal.SIGTERM, grace_s=2.0)
        exchange.process.send_signal(signal.SIGTERM)
        return None

    context.told(f"measuring {len(clients)} clients")
    watched = watch(
        exchange.process,
        bystanders={name: client.process for name, client in clients.items()},
        interruption=context.interruption,
        deadline_ns=2 * lasts_ns + EXCHANGE_GRACE_NS + (_asking_ns(context, len(late)) if late else 0),
        # A market that waited for its subscribers opens on the next whole second.
        alarm=Alarm(NS_PER_S - time.time_ns() % NS_PER_S + int(lasts_ns * READING_SHARE), read),
        tick=context.tick,
    )
    if not read_already:  # a busy machine woke us when the market was over; nobody was reaped yet
        read()
    if watched.interrupted:
        measured.outcomes.update(dict.fromkeys(clients, INTERRUPTED))
    elif watched.overdue:
        overdue = Outcome("failed", "the exchange did not end in time; did a subscriber leave?")
        measured.outcomes.update(dict.fromkeys(clients, overdue))


def _since(began_ns: int) -> int:
    return time.monotonic_ns() - began_ns


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
    context: Context,
    cell: Cell,
    client: FeedClient,
    ledger: Ledger,
    connection: int,
    window: Window,
    frame_bytes: float | None,
) -> Outcome:
    """Writes samples.fbs and load.json beside the record of a client that ended well."""
    plan, folder = context.plan, client.output.parent
    try:
        received = read_received(client.output, client.sink)
    except RunDirectoryError as error:
        return Outcome("failed", str(error))
    if received.killed:
        return Outcome("failed", "its record has no end: it was killed, or wrote no end record")
    found = measure(received, ledger, connection, window, client.door)
    write_samples(folder / "samples.fbs", found.measured, name=cell.id, drop_first=plan.protocol.drop_first)
    load = plan.condition(cell.condition).load
    write_json(
        folder / "load.json",
        load_document(
            found,
            name=cell.id,
            load=load,
            protocol=plan.protocol,
            door=client.door,
            lengths=received.lengths,
            is_compressed=_is_compressed(context, cell),
            frame_bytes=frame_bytes,
        ),
    )
    return judge_feed(found, plan.expect)
