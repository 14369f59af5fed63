"""`python -m exchange_conformance`: installs clients, runs them against the simulator, prints verdicts."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from exchange_conformance.catalogue import PLACES, ROOM, Catalogue, Trial, read_catalogue
from exchange_conformance.collect import Orders, collect
from exchange_conformance.errors import ConformanceError
from exchange_conformance.exchange import Market, default_command, exchange, run_in_namespace
from exchange_conformance.install import Installed, install
from exchange_conformance.judge import TrialVerdict
from exchange_conformance.ledger import Ledger, read_ledger
from exchange_conformance.report import summary, table
from exchange_conformance.verdicts import trial_verdict

CHECKOUT = ROOM.parent.parent
SCRATCH = CHECKOUT / ".feedbench" / "conformance"
PACKAGES = SCRATCH / "packages"


def main() -> int:
    """0 if all trials passed, 1 if one failed or nothing could be run."""
    options = _options()
    try:
        if options.inside:
            return _inside(options)
        return _run(options)
    except ConformanceError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="exchange_conformance",
        description="Runs unmodified exchange clients against the simulated exchange.",
    )
    parser.add_argument("filters", nargs="*", metavar="FILTER", help="parts of names: ccxt, @kraken, node/")
    parser.add_argument("--list", action="store_true", help="show the trials and end")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--messages", type=int, default=1000, help="messages that each client must receive")
    parser.add_argument("--deadline-s", type=float, default=90.0, help="time that a client has for them")
    parser.add_argument("--at-once", type=int, default=4, help="clients that run at the same time")
    parser.add_argument("--rate", type=float, default=2000.0, help="the market's events per second")
    parser.add_argument("--seed", type=int, default=7, help="the market's seed")
    parser.add_argument("--directory", type=Path, default=SCRATCH / "last", help="where records are kept")
    parser.add_argument(
        "--exchange-option", action="append", default=[], help="one more option of the exchange"
    )
    parser.add_argument("--inside", choices=("namespace",), help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    catalogue = read_catalogue()
    trials = catalogue.select(options.filters)
    if options.list:
        for trial in trials:
            print(f"{trial.name}\t{trial.place}\t{trial.dialect}")
        return 0
    command = default_command(CHECKOUT)
    started = time.monotonic()
    installed = install((trial.folder for trial in trials), PACKAGES, say)
    say(f"{len(installed)} clients are installed after {time.monotonic() - started:.0f} s")
    shutil.rmtree(options.directory, ignore_errors=True)
    verdicts: list[TrialVerdict] = []
    for place in PLACES:
        here = [trial for trial in trials if trial.place == place]
        if here:
            verdicts += _trials_of(place, here, command, installed, options)
    if options.json:
        document = {"schema": 1, "trials": [verdict.to_json() for verdict in verdicts]}
        print(json.dumps(document, ensure_ascii=False, default=str))
    else:
        print(table(verdicts))
    say(f"{summary(verdicts)}; {time.monotonic() - started:.0f} s; records are in {options.directory}")
    return int(any(verdict.complaint for verdict in verdicts))


def _trials_of(
    place: str,
    trials: Sequence[Trial],
    command: Sequence[str],
    installed: Mapping[Path, Installed],
    options: argparse.Namespace,
) -> list[TrialVerdict]:
    """Runs the trials of one place at one exchange, then judges them by its ledger."""
    directory = options.directory / place
    directory.mkdir(parents=True)
    ledger = directory / "ledger"
    market = Market(
        personalities=tuple(sorted({trial.personality for trial in trials})),
        symbols=1,
        rate_per_s=options.rate,
        seed=options.seed,
        options=tuple(options.exchange_option),
    )
    say(f"{len(trials)} trials at {', '.join(market.personalities)} ({place})")
    reason: str | None = None
    try:
        if place == "ports":
            with exchange(command, market, ledger=ledger, log=directory / "exchange.log") as urls:
                asyncio.run(
                    collect(
                        trials, installed, urls=urls, directory=directory, orders=_orders(options), say=say
                    )
                )
        else:
            run_in_namespace(
                command, market, _inner(place, trials, options), ledger=ledger, log=directory / "exchange.log"
            )
        record = read_ledger(ledger)
    except ConformanceError as error:
        # The trials of the other place are not spoiled by it.
        reason, record = str(error), Ledger((), {}, complete=False)
    return [
        trial_verdict(trial, directory, record, messages=options.messages, complaint=reason)
        for trial in trials
    ]


def _inner(place: str, trials: Sequence[Trial], options: argparse.Namespace) -> list[str]:
    """The command line of this program for its part inside the namespace."""
    arguments = {
        "--inside": place,
        "--directory": options.directory,
        "--messages": options.messages,
        "--deadline-s": options.deadline_s,
        "--at-once": options.at_once,
    }
    words = [str(word) for pair in arguments.items() for word in pair]
    return [sys.executable, "-m", "exchange_conformance", *words, *(trial.name for trial in trials)]


def _inside(options: argparse.Namespace) -> int:
    """The part that runs where the exchanges' real names lead to the simulator."""
    catalogue: Catalogue = read_catalogue()
    trials = [trial for trial in catalogue.select(options.filters) if trial.place == options.inside]
    installed = install((trial.folder for trial in trials), PACKAGES, say)
    directory = options.directory / options.inside
    asyncio.run(
        collect(
            trials, installed, urls=catalogue.hosts, directory=directory, orders=_orders(options), say=say
        )
    )
    return 0


def _orders(options: argparse.Namespace) -> Orders:
    return Orders(messages=options.messages, deadline_s=options.deadline_s, at_once=options.at_once)


def say(line: str) -> None:
    """Talk: to stderr, at once."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
