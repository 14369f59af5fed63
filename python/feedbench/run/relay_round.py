"""A round of relays: a fresh exchange, a fresh relay, and its clients as one process of the engine.

Everybody is connected before the market opens: its last subscriber, which opens it, is a witness that follows
the exchange without a relay, so that what a relay adds is known beside what it takes at all. Relays on one
upstream connection are sliced against each other like feed clients; all else has the exchange for itself, in
turn.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from feedbench.errors import EngineError, FeedbenchError, RunDirectoryError
from feedbench.feed.client import settings_of
from feedbench.feed.exchange import Exchange
from feedbench.feed.join import join
from feedbench.feed.ledger import Ledger, read_ledger
from feedbench.feed.receipts import is_message, keys_of_receipts, read_receipts
from feedbench.feed.received import Received, read_received
from feedbench.feed.relay import UPSTREAM_KNOB, Relay
from feedbench.feed.relay_measured import measure_relay
from feedbench.feed.relay_process import RelayProcess, start_relay
from feedbench.feed.settings import Feed
from feedbench.feed.subscribers import Subscribers, run_subscribers
from feedbench.host.process import end_process, has_ended
from feedbench.launch import UnsupportedError
from feedbench.paths import write_json
from feedbench.plan import Block, Cell, Plan, Round
from feedbench.run.context import Context
from feedbench.run.feed_result import window_of
from feedbench.run.fleet import Fleet, Start
from feedbench.run.interruption import Interrupted
from feedbench.run.market import EXCHANGE_GRACE_NS, feed_of, market_ns, open_exchange
from feedbench.run.measured import INTERRUPTED, Measured
from feedbench.run.relay_result import Around, Spent, judge_relay, relay_load_document
from feedbench.run.request import NS_PER_S
from feedbench.run.resources import TreeReading, Usage, read_tree
from feedbench.run.status import Outcome
from feedbench.run.watch import Alarm, watch
from feedbench.samples import write_samples

# The exchange is read just before its end: when the market has ended, so has it.
READING_SHARE = 0.95
# The exchange ends each connection at the same age. A witness that came so much later than the relay is still
# there while the relay is away, and only what somebody gets stands in the ledger.
WITNESS_LATER_S = 0.5
# Faults strike when this share of the measured part is over.
FAULT_SHARE = 0.33


@dataclass
class _Running:
    """One cell under way: its relay, its clients, and what they had used before the market opened."""

    cell: Cell
    relay: RelayProcess
    subscribers: Subscribers
    listening_rss_bytes: int
    relay_before: TreeReading | None = None
    subscribers_before: TreeReading | None = None
    spent: tuple[Spent, Spent] | None = None


def measure_by_relays(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> None:
    """Sliced, a relay that does not get there costs only its own cell: the others begin anew without it."""
    ordered = sorted(cells, key=lambda cell: block.start_order.index(cell.process))
    if feed_of(context.plan, ordered[0]).design == "sliced":
        groups = [ordered]
    else:
        groups = [[cell] for cell in ordered]
    for group in groups:
        able = list(group)
        while able and not context.interruption.asked:
            failed = _follow(context, block, round_, able, fleet, measured)
            if failed is None:
                break
            able.remove(failed)


def _follow(
    context: Context, block: Block, round_: Round, cells: Sequence[Cell], fleet: Fleet, measured: Measured
) -> Cell | None:
    """One try with all of `cells`; the one that could not be started, None when all could."""
    plan = context.plan
    feed = feed_of(plan, cells[0])
    assert feed.relay is not None, "the round is one of relays"
    alone = feed.design != "sliced"
    ledger = context.directory.block(block.index) / f"{cells[0].id if alone else round_.id}.ledger"
    with ExitStack() as stack:
        exchange = stack.enter_context(
            open_exchange(
                context,
                block,
                round_,
                _troubled(plan, feed),
                duration_ns=market_ns(plan, feed, len(cells) + 1),
                wait_for=len(cells) * feed.relay.connections + 1,
                ledger=ledger,
                # Its CPU is also that of the clients.
                spins=False,
            )
        )
        running: list[_Running] = []
        for cell in cells:
            try:
                with context.interruption.raising():
                    running.append(_start(context, block, cell, feed, exchange, fleet, stack))
            except Interrupted:
                return None
            except FeedbenchError as error:
                unsupported = isinstance(error, UnsupportedError)
                measured.outcomes[cell.id] = Outcome("unsupported" if unsupported else "failed", str(error))
                return cell
        try:
            _run(context, block, running, exchange, feed, ledger, stack, measured)
        except EngineError as error:
            failed = Outcome("failed", str(error))
            measured.outcomes |= {
                one.cell.id: failed for one in running if one.cell.id not in measured.outcomes
            }
    return None


def _troubled(plan: Plan, feed: Feed) -> Feed:
    """With the exchange's part in the planted fault."""
    if feed.relay is None or feed.relay.fault != "upstream-loss":
        return feed
    after_ns = _fault_after_ns(plan)
    return replace(feed, faults=(*feed.faults, f"disconnect:after={after_ns // 1_000_000}ms"))


def _fault_after_ns(plan: Plan) -> int:
    return plan.protocol.warmup_ns + int(plan.protocol.measure_ns * FAULT_SHARE)


def _start(
    context: Context,
    block: Block,
    cell: Cell,
    feed: Feed,
    exchange: Exchange,
    fleet: Fleet,
    stack: ExitStack,
) -> _Running:
    """Relays one after the other, so that the order of starting is that of the ledger's connections."""
    assert feed.relay is not None
    folder = context.folder(block, cell.id)
    for stale in folder.iterdir():  # of a try that one of the others spoiled
        stale.unlink()
    process, target = context.plan.process(cell.process), context.registry.get(cell.target)
    context.told(f"starting {cell.id}")
    logs = context.logs(block)
    # Records of several connections in one file can't be told apart.
    recorded = feed.relay.connections == 1 and "stamps" in target.knobs.get("sink", ())
    relay = start_relay(
        target,
        exchange.address(feed),
        project=context.project,
        entered=folder / f"{process.id}@{feed.exchange}.stamps" if recorded else None,
        log=logs / f"{cell.id}.relay.log",
        knobs={**process.knobs, "upstream": UPSTREAM_KNOB[feed.relay.upstream]},
        settings=settings_of(subscribe=feed.subscribe, ca_file=exchange.ca_file),
        cpus=context.pinning.targets,
    )
    stack.callback(end_process, relay.process, first=signal.SIGTERM, grace_s=2.0)
    start_up_ns = relay.wait_listening(deadline_s=context.ready_deadline_s)
    listening = read_tree(relay.process.pid)
    fleet.starts[process.id] = Start(start_up_ns, listening.rss_bytes)
    subscribers = stack.enter_context(
        run_subscribers(
            context.engine,
            relay.url,
            count=feed.relay.clients,
            receipts=folder / "clients.receipts",
            log=logs / f"{cell.id}.subscribers.log",
            options=_options(context.plan, feed.relay),
            cpus=context.pinning.engine,
            deadline_s=context.ready_deadline_s,
        )
    )
    return _Running(cell, relay, subscribers, listening.rss_bytes)


def _options(plan: Plan, relay: Relay) -> list[str]:
    """What the clients do besides reading; times are from their first message."""
    after = f"{_fault_after_ns(plan)}ns"
    match relay.fault:
        case "slow-consumer":
            return ["--slow", str(relay.slow), "--slow-after", after]
        case "storm":
            return ["--storm-after", after]
        case "upstream-loss":
            return ["--reconnect"]
        case _:
            return []


def _run(
    context: Context,
    block: Block,
    running: Sequence[_Running],
    exchange: Exchange,
    feed: Feed,
    ledger: Path,
    stack: ExitStack,
    measured: Measured,
) -> None:
    """Opens the market, waits for its end, and writes down what came of it."""
    plan = context.plan
    loses_upstream = feed.relay is not None and feed.relay.fault == "upstream-loss"
    if loses_upstream:
        time.sleep(WITNESS_LATER_S)
    for one in running:
        one.relay_before = read_tree(one.relay.process.pid)
        one.subscribers_before = read_tree(one.subscribers.process.pid)
    exchange_before = read_tree(exchange.process.pid)
    exchange_after = exchange_before
    folder = context.folder(block, running[0].cell.id)
    witness = stack.enter_context(
        run_subscribers(
            context.engine,
            exchange.url(feed),
            count=1,
            receipts=folder / "witness.receipts",
            log=context.logs(block) / f"{running[0].cell.id}.witness.log",
            options=[
                *(option for text in feed.subscribe for option in ("--send", text)),
                *(["--reconnect"] if loses_upstream else []),
            ],
            cpus=context.pinning.engine,
            deadline_s=context.ready_deadline_s,
        )
    )

    def read() -> None:
        nonlocal exchange_after
        exchange_after = read_tree(exchange.process.pid)
        measured.engine_run_delay_ns = max(0, exchange_after.run_delay_ns - exchange_before.run_delay_ns)

    opens_in_ns = NS_PER_S - time.time_ns() % NS_PER_S
    lasts_ns = market_ns(plan, feed, len(running) + 1)
    context.told(f"measuring {len(running)} relays, {feed.relay.clients if feed.relay else 0} clients each")
    watched = watch(
        exchange.process,
        bystanders={one.cell.id: one.relay.process for one in running},
        interruption=context.interruption,
        deadline_ns=2 * lasts_ns + EXCHANGE_GRACE_NS,
        alarm=Alarm(opens_in_ns + int(lasts_ns * READING_SHARE), read),
        tick=context.tick,
    )
    for one in running:
        _note(one, measured)
    cells = [one.cell.id for one in running]
    if watched.interrupted:
        measured.outcomes.update(dict.fromkeys(cells, INTERRUPTED))
        return
    if watched.overdue:
        overdue = Outcome("failed", "the exchange did not end in time; did a relay leave?")
        measured.outcomes.update(dict.fromkeys(cells, overdue))
        return
    witness.finish()
    spent = Spent(exchange_before, exchange_after)
    _write_all(context, block, running, feed, ledger, witness, spent, measured)


def _note(one: _Running, measured: Measured) -> None:
    """What relay and clients used of the market's time, and whether the relay still lives."""
    assert one.relay_before is not None
    assert one.subscribers_before is not None
    if has_ended(one.relay.process):
        measured.outcomes[one.cell.id] = Outcome("failed", str(one.relay.death()))
        return
    after = read_tree(one.relay.process.pid)
    clients_after = read_tree(one.subscribers.process.pid)
    one.spent = Spent(one.relay_before, after), Spent(one.subscribers_before, clients_after)
    measured.usages[one.cell.id] = Usage(
        before=one.relay_before,
        after=after,
        rss_connected_bytes=one.relay_before.rss_bytes,
        connections=1,
        comparable=False,
    )
    measured.run_delays_ns[one.cell.process] = max(0, after.run_delay_ns - one.relay_before.run_delay_ns)
    measured.targets_cpu_ns += after.cpu_ns - one.relay_before.cpu_ns
    measured.targets_cpu_ns += clients_after.cpu_ns - one.subscribers_before.cpu_ns


def _write_all(
    context: Context,
    block: Block,
    running: Sequence[_Running],
    feed: Feed,
    ledger_file: Path,
    witness: Subscribers,
    exchange: Spent,
    measured: Measured,
) -> None:
    try:
        ledger = read_ledger(ledger_file)
    except RunDirectoryError as error:
        measured.outcomes |= {one.cell.id: Outcome("failed", str(error)) for one in running}
        return
    for place, one in enumerate(running):
        if one.cell.id in measured.outcomes:
            continue
        if not ledger.complete:
            measured.outcomes[one.cell.id] = Outcome("failed", "the exchange left an incomplete ledger")
            continue
        try:
            measured.outcomes[one.cell.id] = _write(
                context, block, one, feed, ledger, place, len(running), witness, exchange
            )
        except (EngineError, RunDirectoryError) as error:
            measured.outcomes[one.cell.id] = Outcome("failed", str(error))


def _write(
    context: Context,
    block: Block,
    one: _Running,
    feed: Feed,
    ledger: Ledger,
    place: int,
    relays: int,
    witness: Subscribers,
    exchange: Spent,
) -> Outcome:
    """samples.fbs and load.json of one relay; its record ends when it does."""
    assert feed.relay is not None
    assert one.spent is not None
    plan, folder = context.plan, context.folder(block, one.cell.id)
    said = one.subscribers.finish()
    end_process(one.relay.process, first=signal.SIGTERM, grace_s=2.0)
    entered = None if one.relay.entered is None else read_received(one.relay.entered, "stamps")
    window = window_of(plan.protocol, feed, relays + 1)
    found = measure_relay(read_receipts(one.subscribers.receipts), entered, ledger, place, window, feed.relay)
    direct = read_receipts(witness.receipts).records
    direct = direct[is_message(direct)]
    witnessed = join(
        Received(direct["at_ns"], keys_of_receipts(direct), killed=False),
        ledger.of_connection(relays * feed.relay.connections),
    )
    around = Around(
        relay=one.spent[0],
        subscribers=one.spent[1],
        exchange=exchange,
        listening_rss_bytes=one.listening_rss_bytes,
        said=said,
        witness=witnessed,
    )
    write_samples(
        folder / "samples.fbs", found.measured, name=one.cell.id, drop_first=plan.protocol.drop_first
    )
    load = plan.condition(one.cell.condition).load
    document = relay_load_document(found, around, name=one.cell.id, load=load, protocol=plan.protocol)
    write_json(folder / "load.json", document)
    return judge_relay(found, plan.expect)
