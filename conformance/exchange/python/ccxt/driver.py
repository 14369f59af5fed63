"""ccxt.pro: trades, the order book that it keeps, and tickers, in its unified form."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import ccxt.pro
from claims import Claims

LEVELS = 10
# What else than trades and the book each exchange's class can watch.
TICKERS = {
    "binance": "mini_ticker",
    "coinbaseexchange": "ticker",
    "kraken": "ticker",
    "bithumb": "ticker",
    "bybit": "ticker",
    "gemini": None,
}
# Bithumb sends whole books, the others changes; for Coinbase's, ccxt wants an API key.
BOOKS = {
    "binance": "depth",
    "coinbaseexchange": None,
    "kraken": "depth",
    "bithumb": "book",
    "bybit": "depth",
    "gemini": "depth",
}
SYMBOLS = {
    "binance": "BTC/USDT",
    "coinbaseexchange": "BTC/USD",
    "kraken": "BTC/USD",
    "bithumb": "BTC/KRW",
    "bybit": "BTC/USDT",
    "gemini": "BTC/USD",
}


def client_of(claims: Claims) -> Any:
    """The exchange's class, pointed at the simulator by its own options."""
    exchange = getattr(ccxt.pro, claims.exchange)({"newUpdates": True, "enableRateLimit": False})
    # It forgets the oldest of more trades than this that nobody has asked for yet, as on a busy machine.
    exchange.options["tradesLimit"] = 1_000_000
    exchange.urls["api"] = rest_urls(exchange.urls["api"], claims.rest) | {"ws": exchange.urls["api"]["ws"]}
    match claims.exchange:
        case "binance":
            exchange.urls["api"]["ws"]["spot"] = f"{claims.ws}/ws"
            exchange.options["fetchMarkets"] = {"types": ["spot"]}
            exchange.has["fetchCurrencies"] = False
        case "coinbaseexchange" | "gemini":
            exchange.urls["api"]["ws"] = claims.ws
            exchange.options["fetchMarketsMethod"] = "fetch_markets_from_api"
        case "kraken":
            exchange.urls["api"]["ws"]["publicV2"] = f"{claims.ws}/v2"
        case "bybit":
            exchange.urls["api"]["ws"]["public"]["spot"] = f"{claims.ws}/v5/public/spot"
            exchange.options["fetchMarkets"] = {"types": ["spot"]}
        case "bithumb":
            exchange.urls["api"]["ws"]["publicGen2"] = f"{claims.ws}/websocket/v1"
    return exchange


def rest_urls(urls: dict[str, Any], rest: str) -> dict[str, Any]:
    """The same paths under another host."""
    return {
        name: f"{rest}/{url.partition('://')[2].partition('/')[2]}".rstrip("/")
        for name, url in urls.items()
        if isinstance(url, str)
    }


async def watch_trades(client: Any, symbol: str, claims: Claims) -> None:
    fields: dict[str, Any]
    while not claims.over:
        for trade in await client.watch_trades(symbol):
            fields = {
                "price": trade["price"],
                "quantity": trade["amount"],
                "side": trade["side"],
                "time_ms": trade["timestamp"],
            }
            if claims.exchange != "gemini":
                fields["trade_id"] = trade["id"]
            claims.fields("trade", symbol, **fields)


async def watch_book(client: Any, symbol: str, claims: Claims, channel: str) -> None:
    while not claims.over:
        book = await client.watch_order_book(symbol)
        if claims.exchange == "binance" and book["timestamp"] is None:
            continue  # the book from REST: no message of the stream has changed it yet
        bids = [list(level[:2]) for level in book["bids"][:LEVELS]]
        asks = [list(level[:2]) for level in book["asks"][:LEVELS]]
        which = {"last_id": book["nonce"]} if claims.exchange == "binance" else {}
        claims.state(channel, symbol, bids, asks, sampled=True, **which)


async def watch_ticker(client: Any, symbol: str, claims: Claims, channel: str) -> None:
    while not claims.over:
        ticker = await client.watch_ticker(symbol)
        names = {"last": "last", "high": "high", "low": "low", "volume": "baseVolume"}
        fields = {name: ticker[key] for name, key in names.items() if ticker[key] is not None}
        claims.fields(channel, symbol, sampled=True, **fields)


async def main() -> None:
    claims = Claims("ccxt", {})
    symbol, ticker = SYMBOLS[claims.exchange], TICKERS[claims.exchange]
    book = BOOKS[claims.exchange]
    claims.channels({"trade": 300} | ({book: 20} if book else {}) | ({ticker: 2} if ticker else {}))
    watching: list[Callable[[Any], Awaitable[None]]] = [lambda client: watch_trades(client, symbol, claims)]
    if book:
        watching.append(lambda client: watch_book(client, symbol, claims, book))
    if ticker:
        watching.append(lambda client: watch_ticker(client, symbol, claims, ticker))
    # On Bithumb a connection's later request takes the place of the earlier one: a client for each channel.
    one_for_all = client_of(claims)
    clients = [client_of(claims) if claims.exchange == "bithumb" else one_for_all for _ in watching]
    try:
        for client in clients:
            await client.load_markets()
        tasks = [
            asyncio.ensure_future(watch(client)) for watch, client in zip(watching, clients, strict=True)
        ]
        while not claims.over and not any(task.done() and task.exception() for task in tasks):
            await asyncio.sleep(0.05)
        for task in tasks:
            if task.done():
                task.result()
            task.cancel()
    finally:
        for client in {id(client): client for client in [one_for_all, *clients]}.values():
            await client.close()
    claims.end()


asyncio.run(main())
