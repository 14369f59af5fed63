"""`python -m fix_conformance`: puts every definition to an acceptor and prints verdicts."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from exchange_conformance.errors import ConformanceError
from exchange_conformance.exchange import default_command, serving
from fix_conformance.client import Client, answers
from fix_conformance.definition import Case, read_cases, select
from fix_conformance.errors import CheckError, DefinitionError
from fix_conformance.planted import PLANTS, Plant

CHECKOUT = Path(__file__).parent.parent.parent.parent
MARKET = ("--personality", "binance,coinbase", "--fix", "--symbols", "2", "--rate", "1000", "--seed", "7")
ACCEPTANCE = ("--fix-acceptance",)
# Its door is called as the usual one, so its cases have a door of their own.
MAINTENANCE = (
    "--personality",
    "binance",
    "--fix",
    "--symbols",
    "1",
    "--rate",
    "100",
    "--fix-maintenance",
    "11",
)
MAINTENANCE_DOOR = "binance-maintenance"
AT_ONCE = 16


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    case: Case
    complaint: str | None

    def to_json(self) -> dict[str, str | None]:
        """For `--json`."""
        status = "failed" if self.complaint else "passed"
        return {"id": self.case.id, "verdict": status, "complaint": self.complaint}


def main() -> int:
    """0 if all cases passed; with `--plant`, if all failed."""
    options = _options()
    try:
        cases = select(read_cases(), options.filters)
        if options.list:
            for case in cases:
                print(f"{case.id}\t{case.door.name}\t{case.what}")
            return 0
        plant = PLANTS[options.plant] if options.plant else None
        verdicts = _judge(cases, options.address, patience_s=options.patience_s, plant=plant)
    except (DefinitionError, ConformanceError) as error:
        print(f"fix conformance: {error}", file=sys.stderr)
        return 1
    failed = [verdict for verdict in verdicts if verdict.complaint]
    if options.json:
        print(json.dumps({"schema": 1, "cases": [verdict.to_json() for verdict in verdicts]}))
    else:
        for verdict in verdicts:
            print(f"{'FAIL' if verdict.complaint else 'pass'}  {verdict.case.id}")
            if verdict.complaint:
                print(f"      {verdict.complaint}")
    print(f"{len(verdicts) - len(failed)} of {len(verdicts)} cases passed", file=sys.stderr)
    if options.plant:
        return int(len(failed) < len(verdicts))
    return int(bool(failed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fix_conformance",
        description="Judges a FIX acceptor message by message: fields and order exact, times by pattern.",
    )
    parser.add_argument("filters", nargs="*", metavar="FILTER", help="parts of ids: session.resend")
    parser.add_argument("--list", action="store_true", help="show the cases and end")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--patience-s", type=float, default=30.0, help="how long an answer may take")
    parser.add_argument(
        "--address",
        action="append",
        default=[],
        metavar="DOOR=HOST:PORT",
        help="another acceptor in place of the simulated exchange, for the cases of this door",
    )
    parser.add_argument(
        "--plant", choices=PLANTS, help="spoil the last answer of each case: then each must fail"
    )
    return parser.parse_args()


@contextmanager
def all_doors(command: Sequence[str], *, log: Path) -> Iterator[dict[str, str]]:
    """URLs of all doors that cases name, of exchanges that are started for it."""
    with ExitStack() as stack:
        market, acceptance, maintenance = (
            stack.enter_context(serving(command, arguments, log=log))
            for arguments in (MARKET, ACCEPTANCE, MAINTENANCE)
        )
        doors = {name: url["fix"] for name, url in {**market, **acceptance}.items() if url["fix"]}
        yield doors | {MAINTENANCE_DOOR: maintenance["binance"]["fix"]}


def _judge(
    cases: Sequence[Case], given: Sequence[str], *, patience_s: float, plant: Plant | None
) -> list[Verdict]:
    with ExitStack() as stack:
        addresses = {}
        for one in given:
            door, _, address = one.partition("=")
            addresses[door] = f"tcp://{address}"
        if any(case.door.name not in addresses for case in cases):
            command = default_command(CHECKOUT)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            addresses = stack.enter_context(all_doors(command, log=folder / "exchange.log")) | addresses

        def judge(case: Case) -> Verdict:
            return _verdict(case, addresses, patience_s=patience_s, plant=plant)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(judge, cases))


def _verdict(case: Case, addresses: Mapping[str, str], *, patience_s: float, plant: Plant | None) -> Verdict:
    address = urlsplit(addresses[case.door.name])
    place = (address.hostname or "", address.port or 0)
    try:
        spoiled = (plant, answers(case) - 1) if plant else None
        Client(case, place, patience_s=patience_s, plant=spoiled).run()
    except CheckError as error:
        return Verdict(case, str(error))
    return Verdict(case, None)


if __name__ == "__main__":
    sys.exit(main())
