"""A real exchange, a real witness and a client: agreement passes, and whatever is planted is found."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from exchange_conformance.__main__ import CHECKOUT
from exchange_conformance.catalogue import Trial, WitnessPlan
from exchange_conformance.collect import Orders, collect
from exchange_conformance.errors import ConformanceError
from exchange_conformance.exchange import Market, default_command, exchange
from exchange_conformance.install import Installed
from exchange_conformance.judge import TrialVerdict
from exchange_conformance.ledger import read_ledger
from exchange_conformance.verdicts import trial_verdict

pytestmark = pytest.mark.end_to_end

MESSAGES = 200
ORDERS = Orders(messages=MESSAGES, deadline_s=120, at_once=1)
TRIAL = Trial(
    client="python/raw",
    exchange="binance",
    personality="binance",
    dialect="binance",
    place="ports",
    witness=(WitnessPlan(path="/ws/btcusdt@trade"),),
)
CLIENT = Installed("python", Path(__file__).parent / "raw_client", Path(sys.prefix))


@pytest.fixture(scope="module")
def command() -> list[str]:
    try:
        return default_command(CHECKOUT)
    except ConformanceError as error:
        pytest.skip(str(error))


def run(
    command: list[str], directory: Path, *, trial: Trial = TRIAL, options: tuple[str, ...] = ()
) -> TrialVerdict:
    market = Market(personalities=("binance",), symbols=1, rate_per_s=2_000, seed=7, options=options)
    with exchange(command, market, ledger=directory / "ledger", log=directory / "exchange.log") as urls:
        asyncio.run(
            collect(
                [trial],
                {trial.folder: CLIENT},
                urls=urls,
                directory=directory,
                orders=ORDERS,
                say=lambda line: print(line, file=sys.stderr),
            )
        )
    return trial_verdict(trial, directory, read_ledger(directory / "ledger"), messages=MESSAGES)


def test_a_client_that_tells_what_it_got_passes(command: list[str], tmp_path: Path) -> None:
    verdict = run(command, tmp_path)
    assert verdict.complaint is None
    assert verdict.messages >= MESSAGES
    assert verdict.proven >= verdict.messages


@pytest.mark.parametrize("lie", ["price", "side"])
def test_a_client_that_alters_one_field_of_one_message_fails(
    command: list[str], tmp_path: Path, lie: str
) -> None:
    verdict = run(command, tmp_path, trial=replace(TRIAL, environment={"RAW_CLIENT_LIES": lie}))
    assert verdict.complaint is not None
    assert "trade BTC: message 50 differs" in verdict.complaint


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("gap:every=100", "are in the ledger and did not arrive"),
        ("duplicate:every=100", "trade BTC: "),
        ("reorder:every=100", "trade BTC: "),
        ("malformed-json:at=60", "JSONDecodeError"),
        ("cut:at=60", "the exchange closed the witness's connection"),
    ],
)
def test_a_fault_of_the_exchange_is_found(
    command: list[str], tmp_path: Path, fault: str, complaint: str
) -> None:
    verdict = run(command, tmp_path, options=("--fault", fault))
    assert verdict.complaint is not None
    assert complaint in verdict.complaint
