"""The last message of a market reaches its client: received and lost are what was sent, and nothing is lost,
however short the market was and however far the client is behind when the exchange closes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from target_serving import PROJECT
from test_target_fix_clients import DEADLINE_S, market

from feedbench.commands import environment, fill
from feedbench.feed.join import Joined, join
from feedbench.feed.received import read_received
from feedbench.target import Target

pytestmark = pytest.mark.end_to_end

NAME = "python/websockets"
STREAM = "/ws/btcusdt@trade/btcusdt@bookTicker"
SHORT_MARKETS = 12
Built = Callable[[str], Target]


def followed(target: Target, folder: Path, *arguments: str, **knobs: str) -> Joined:
    """What the client had of one market, from its opening until the exchange closed."""
    folder.mkdir()
    assert target.feed_client_command is not None
    output = folder / "record"
    with market(folder, *arguments) as running:
        ended = subprocess.run(
            [
                *fill(target.feed_client_command, target=target, project=PROJECT),
                *("binance", "ws://127.0.0.1", str(running.port("binance", "ws")), STREAM),
            ],
            cwd=target.folder,
            env=environment({"output": str(output), **knobs}),
            stderr=subprocess.PIPE,
            text=True,
            timeout=DEADLINE_S,
        )
        ledger = running.ledger()
    assert (ended.returncode, ended.stderr) == (1, "closed: 1001 the exchange closes\n")
    assert ledger.complete
    joined = join(read_received(output, "stamps"), ledger.of_connection(0))
    assert len(joined.place) + joined.lost == len(joined.messages) > 0
    return joined


def test_many_short_markets_lose_nothing(built: Built, tmp_path: Path) -> None:
    for number in range(SHORT_MARKETS):
        joined = followed(
            built(NAME), tmp_path / str(number), "--rate", "20000", "--events", "100", "--seed", str(number)
        )
        assert (joined.lost, joined.unknown, joined.duplicated) == (0, 0, 0), f"seed {number}"


def test_a_client_that_is_seconds_behind_at_the_end_loses_nothing(built: Built, tmp_path: Path) -> None:
    joined = followed(
        built(NAME), tmp_path / "late", "--rate", "20000", "--events", "2000", delay_ns="2000000"
    )
    assert (joined.lost, joined.unknown, joined.duplicated) == (0, 0, 0)
    last = joined.messages[joined.place[-1]]
    assert int(joined.received_ns[-1]) - int(last["sent_ns"]) > 500_000_000, "it was not behind"
