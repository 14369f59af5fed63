"""ccxt, given a real recording by the exchange's replay, ends with the book that its depth updates make."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded import Alteration, Recorded, read_recording, write_altered

from exchange_conformance.__main__ import CHECKOUT, PACKAGES
from exchange_conformance.book import Book
from exchange_conformance.catalogue import ROOM
from exchange_conformance.errors import ConformanceError
from exchange_conformance.exchange import default_command, serving
from exchange_conformance.install import install
from exchange_conformance.values import number

RECORDING = "binance-spot-btcusdt-20240808.gz"
SPEED = 15
"""Nearly six minutes in less than half of one: ccxt has time to ask for the book among the first updates."""
LEVELS = 1_000
"""Best levels that are compared: REST tells 5,000, and what was farther away then is not known to ccxt."""
DEADLINE_S = 300

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    directory = os.environ.get("FEEDBENCH_RECORDINGS")
    if not directory or not (Path(directory) / RECORDING).exists():
        pytest.skip(f"FEEDBENCH_RECORDINGS names no directory with {RECORDING}")
    return read_recording(Path(directory) / RECORDING)


@pytest.fixture(scope="module")
def command(recorded: Recorded) -> list[str]:
    try:
        return default_command(CHECKOUT)
    except ConformanceError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def ccxt_python(recorded: Recorded) -> str:
    folder = ROOM / "python" / "ccxt"
    return install([folder], PACKAGES, lambda line: print(line, file=sys.stderr))[folder].command[0]


def book_of(recorded: Recorded) -> Book:
    """By the exchange's rule: what the REST book already holds is dropped, all else is applied."""
    book = Book()
    book.reset(*_sides(recorded.book["bids"], recorded.book["asks"]))
    for update in recorded.updates:
        if update["u"] > recorded.book["lastUpdateId"]:
            book.apply(*_sides(update["b"], update["a"]))
    return book


def _sides(*sides: list[list[str]]) -> tuple[list[Any], ...]:
    return tuple([(number(price), number(quantity)) for price, quantity in side] for side in sides)


async def _keep_book(python: str, url: str, last_update: int) -> tuple[int, dict[str, list[Any]], str]:
    process = await asyncio.create_subprocess_exec(
        python,
        str(Path(__file__).parent / "ccxt_book.py"),
        url.rpartition(":")[2].rstrip("/"),
        str(last_update),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, said = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode is not None
    return process.returncode, json.loads(output or b"{}"), said.decode()


def book_by_ccxt(
    command: list[str], python: str, recorded: Recorded, folder: Path, alter: Alteration | None = None
) -> tuple[int, dict[str, list[Any]], str]:
    """Exit status, the book that it printed, and what it said."""
    replayed = recorded.path
    if alter is not None:
        replayed = folder / "altered.gz"
        write_altered(recorded, alter, replayed)
    arguments = ["--replay", str(replayed), "--speed", str(SPEED), "--wait-for", "1"]
    with serving(command, arguments, log=folder / "exchange.log") as urls:
        return asyncio.run(_keep_book(python, urls["replay"]["rest"], recorded.updates[-1]["u"]))


def is_same(printed: dict[str, list[Any]], book: Book) -> bool:
    bids, asks = _sides(printed["bids"][:LEVELS], printed["asks"][:LEVELS])
    return (tuple(bids), tuple(asks)) == book.top(LEVELS)


def test_ccxt_ends_with_the_book_that_the_updates_make(
    command: list[str], ccxt_python: str, recorded: Recorded, tmp_path: Path
) -> None:
    status, printed, said = book_by_ccxt(command, ccxt_python, recorded, tmp_path)
    assert status == 0, said
    assert min(len(printed["bids"]), len(printed["asks"])) > LEVELS
    assert is_same(printed, book_of(recorded))


def test_an_altered_quantity_makes_another_book(
    command: list[str], ccxt_python: str, recorded: Recorded, tmp_path: Path
) -> None:
    last_update = recorded.updates[-1]["u"]
    best, _ = recorded.updates[-1]["b"][0]

    def alter(update: dict[str, Any]) -> dict[str, Any]:
        if update["u"] != last_update:
            return update
        return update | {"b": [[best, "123.00000000"], *update["b"][1:]]}

    status, printed, said = book_by_ccxt(command, ccxt_python, recorded, tmp_path, alter)
    assert status == 0, said
    assert not is_same(printed, book_of(recorded))


def test_a_missing_update_is_noticed_by_ccxt_itself(
    command: list[str], ccxt_python: str, recorded: Recorded, tmp_path: Path
) -> None:
    gone = recorded.updates[len(recorded.updates) // 2]["u"]
    status, _, said = book_by_ccxt(
        command, ccxt_python, recorded, tmp_path, lambda update: None if update["u"] == gone else update
    )
    assert status != 0
    assert "ChecksumError" in said
