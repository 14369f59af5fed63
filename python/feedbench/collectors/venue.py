"""The exchanges that can be watched: where they are, what they are asked, how their answers are read.

Facts are the exchanges' own documentation's: Coinbase Exchange (`/time`, `/products/…/ticker`, channel
`ticker`), Coinbase Advanced Trade (`/api/v3/brokerage/…`, channel `ticker`), Binance spot (`/api/v3/…`,
`<symbol>@trade`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from feedbench.errors import FeedbenchError
from feedbench.suggest import nearest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class RemoteTime:
    """What an exchange's clock showed, and to how much it is printed."""

    unix_ns: int
    resolution_ns: int


@dataclass(frozen=True)
class Tick:
    """`number` counts on by one in each message of a connection or market, if the exchange numbers them
    so.
    """

    event_unix_ns: int | None
    number: int | None
    snapshot: bool = False


class UnreadableError(ValueError):
    """A message that is not what the exchange's documentation says."""


@dataclass(frozen=True)
class Venue:
    """`read_message` gives None for what is no tick: acknowledgements, heartbeats.

    With `greets` the first tick of a connection is the last one before it, without being marked so. With
    `numbers_connections` numbers begin anew with each connection, else they are the market's.
    """

    name: str
    provider: str
    symbol: str
    rest_url: str
    time_path: str
    ticker_path: str
    websocket_url: str
    subscription: str
    read_time: Callable[[bytes], RemoteTime]
    read_ticker: Callable[[bytes], Tick]
    read_message: Callable[[str | bytes], Tick | None]
    greets: bool = False
    numbers_connections: bool = False

    def at(self, *, rest_url: str | None, websocket_url: str | None) -> Venue:
        """The same exchange elsewhere: a simulated one. The path of its WebSocket stays; None: as it is."""
        path = self.websocket_url.split("://", 1)[1].partition("/")[2]
        elsewhere = f"{(websocket_url or '').rstrip('/')}/{path}".rstrip("/")
        return replace(
            self,
            rest_url=self.rest_url if rest_url is None else rest_url.rstrip("/"),
            websocket_url=self.websocket_url if websocket_url is None else elsewhere,
        )


def unix_ns_of_rfc3339(text: str) -> tuple[int, int]:
    """Unix nanoseconds and resolution of `2026-11-21T22:44:06.806409Z`, with up to nine decimals."""
    head, _, fraction = text.removesuffix("Z").partition(".")
    if not text.endswith("Z") or len(fraction) > 9 or (fraction and not fraction.isdigit()):
        raise ValueError(f"{text} is no UTC time")
    moment = datetime.strptime(head, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    resolution_ns = 10 ** (9 - len(fraction))
    # A timedelta counts whole microseconds; seconds as a float would lose some of them.
    since = moment - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return seconds * 1_000_000_000 + int(fraction or "0") * resolution_ns, resolution_ns


def venue(name: str) -> Venue:
    """FeedbenchError when there is none of that name."""
    try:
        return VENUES[name]
    except KeyError:
        raise FeedbenchError(f'there is no venue "{name}"', hint=nearest(name, VENUES)) from None


def _read(read: Callable[[Any], Any]) -> Callable[[str | bytes], Any]:
    """A reader of JSON whose every surprise is an UnreadableError."""

    def reader(payload: str | bytes) -> Any:
        try:
            return read(json.loads(payload))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise UnreadableError(f"{type(error).__name__}: {error}") from error

    return reader


def _coinbase_time(content: Any) -> RemoteTime:
    return RemoteTime(*unix_ns_of_rfc3339(content["iso"]))


def _coinbase_ticker(content: Any) -> Tick:
    return Tick(unix_ns_of_rfc3339(content["time"])[0], content["trade_id"])


def _coinbase_message(content: Any) -> Tick | None:
    if content["type"] == "error":
        raise ValueError(content.get("message", "error without a message"))
    return _coinbase_ticker(content) if content["type"] == "ticker" else None


def _advanced_time(content: Any) -> RemoteTime:
    return RemoteTime(int(content["epochMillis"]) * 1_000_000, 1_000_000)


def _advanced_ticker(content: Any) -> Tick:
    newest = content["trades"][0]
    return Tick(unix_ns_of_rfc3339(newest["time"])[0], int(newest["trade_id"]))


def _advanced_message(content: Any) -> Tick | None:
    number, kind = content["sequence_num"], content["channel"]
    if kind != "ticker":
        # It has a number, too, which the next message counts on from.
        return Tick(None, number, snapshot=True)
    snapshot = any(event["type"] == "snapshot" for event in content["events"])
    return Tick(unix_ns_of_rfc3339(content["timestamp"])[0], number, snapshot)


def _binance_time(content: Any) -> RemoteTime:
    return RemoteTime(int(content["serverTime"]) * 1_000_000, 1_000_000)


def _binance_ticker(content: Any) -> Tick:
    # Its `closeTime` is the moment of asking, not of an event.
    return Tick(None, int(content["lastId"]))


def _binance_message(content: Any) -> Tick | None:
    if content.get("e") != "trade":
        return None
    return Tick(int(content["E"]) * 1_000_000, int(content["t"]))


VENUES: Mapping[str, Venue] = {
    each.name: each
    for each in (
        Venue(
            name="coinbase",
            provider="coinbase",
            symbol="BTC-USD",
            rest_url="https://api.exchange.coinbase.com",
            time_path="/time",
            ticker_path="/products/BTC-USD/ticker",
            websocket_url="wss://ws-feed.exchange.coinbase.com",
            subscription='{"type":"subscribe","product_ids":["BTC-USD"],"channels":["ticker"]}',
            read_time=_read(_coinbase_time),
            read_ticker=_read(_coinbase_ticker),
            read_message=_read(_coinbase_message),
            greets=True,
        ),
        Venue(
            name="coinbase-advanced",
            provider="coinbase",
            symbol="BTC-USD",
            rest_url="https://api.coinbase.com",
            time_path="/api/v3/brokerage/time",
            ticker_path="/api/v3/brokerage/market/products/BTC-USD/ticker?limit=1",
            websocket_url="wss://advanced-trade-ws.coinbase.com",
            subscription='{"type":"subscribe","product_ids":["BTC-USD"],"channel":"ticker"}',
            read_time=_read(_advanced_time),
            read_ticker=_read(_advanced_ticker),
            read_message=_read(_advanced_message),
            numbers_connections=True,
        ),
        Venue(
            name="binance",
            provider="binance",
            symbol="BTCUSDT",
            rest_url="https://api.binance.com",
            time_path="/api/v3/time",
            ticker_path="/api/v3/ticker/24hr?symbol=BTCUSDT",
            websocket_url="wss://stream.binance.com:9443/ws",
            subscription='{"method":"SUBSCRIBE","params":["btcusdt@trade"],"id":1}',
            read_time=_read(_binance_time),
            read_ticker=_read(_binance_ticker),
            read_message=_read(_binance_message),
        ),
    )
}
