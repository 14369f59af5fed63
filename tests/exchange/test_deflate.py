"""permessage-deflate of the exchange, read by Python's zlib."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
from running_exchange import Exchange
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

STREAMS = "/ws/btcusdt@trade/btcusdt@bookTicker"
LIMITS = (
    "--symbols",
    "1",
    "--pacing",
    "unpaced",
    "--events",
    "4000",
    "--wait-for",
    "1",
    "--personality",
    "binance",
)


def received(url: str, *, offers: bool) -> tuple[str | None, list[bytes]]:
    """What was agreed on, and everything until the exchange closes."""
    messages: list[bytes] = []
    compression = "deflate" if offers else None
    with connect(url, max_queue=None, compression=compression, proxy=None) as client:
        assert client.response
        agreed = client.response.headers.get("Sec-WebSocket-Extensions")
        try:
            while True:
                messages.append(client.recv(timeout=60, decode=False))
        except ConnectionClosed:
            return agreed, messages


@pytest.mark.parametrize(
    ("option", "offers", "agreed"),
    [
        ((), True, None),
        (("--deflate",), False, None),
        (("--deflate",), True, "permessage-deflate"),
        (("--deflate=as-offered",), True, "permessage-deflate"),
        (("--deflate=shared",), True, "permessage-deflate; server_no_context_takeover"),
    ],
)
def test_frames_are_compressed_where_both_want_it_and_their_bytes_are_counted(
    start_exchange: Callable[..., Exchange], option: tuple[str, ...], offers: bool, agreed: str | None
) -> None:
    exchange = start_exchange(*LIMITS, *option)
    answer, messages = received(exchange.urls["binance"]["ws"] + STREAMS, offers=offers)
    totals, ledger = exchange.end()
    assert answer is None if agreed is None else (answer or "").startswith(agreed)
    assert len(messages) > 100
    assert [zlib.crc32(message) for message in messages] == ledger.messages["crc32"].tolist()
    door = totals["doors"][0]
    assert door["bytes_sent"] == sum(map(len, messages))
    if agreed is None:
        headers = sum(2 if len(message) < 126 else 4 for message in messages)
        assert door["framed_bytes_sent"] == door["bytes_sent"] + headers
    else:
        assert door["framed_bytes_sent"] < 0.95 * door["bytes_sent"]
