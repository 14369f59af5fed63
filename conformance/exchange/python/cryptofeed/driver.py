"""cryptofeed: its own objects for trades, tickers and books; the addresses that are built into it."""

import asyncio
from typing import Any

from claims import Claims
from cryptofeed import FeedHandler
from cryptofeed.defines import L2_BOOK, TICKER, TRADES
from cryptofeed.exchanges import Binance, Bithumb, Coinbase, Gemini, Kraken

LEVELS = 10
# Class, symbol, channels, depth of the book, and what this exchange calls the trade's number and its time.
FEEDS: dict[str, tuple[Any, str, list[str], dict[str, int]]] = {
    "binance": (Binance, "BTC-USDT", [TRADES, TICKER, L2_BOOK], {"aggregate": 100, "best": 100, "depth": 20}),
    "coinbase": (Coinbase, "BTC-USD", [TRADES, TICKER, L2_BOOK], {"trade": 300, "ticker": 100, "depth": 20}),
    "gemini": (Gemini, "BTC-USD", [TRADES, L2_BOOK], {"trade": 100, "depth": 100}),
    "kraken": (Kraken, "BTC-USD", [TRADES, TICKER, L2_BOOK], {"trade": 100, "ticker": 100, "depth": 100}),
    "bithumb": (Bithumb, "BTC-KRW", [TRADES], {"trade": 1000}),
}
TRADE_CHANNEL = {"binance": "aggregate"}
TICKER_CHANNEL = {"binance": "best"}


def main() -> None:
    claims = Claims("cryptofeed", {})
    feed, symbol, channels, least = FEEDS[claims.exchange]
    claims.channels(least)
    handler = FeedHandler(config={"uvloop": False, "log": {"disabled": True}})

    async def on_trade(trade: Any, _received: float) -> None:
        fields = {"price": trade.price, "quantity": trade.amount, "side": trade.side}
        match claims.exchange:
            case "binance":
                fields |= {"trade_id": trade.id, "event_time_s": trade.timestamp}
            case "coinbase":
                fields |= {"trade_id": trade.id, "time_s": trade.timestamp}
            case "gemini":
                fields |= {"event_id": trade.id, "time_s": trade.timestamp}
            case _:
                fields |= {"time_s": trade.timestamp}
        claims.fields(TRADE_CHANNEL.get(claims.exchange, "trade"), trade.symbol, **fields)

    async def on_ticker(ticker: Any, _received: float) -> None:
        claims.fields(
            TICKER_CHANNEL.get(claims.exchange, "ticker"), ticker.symbol, bid=ticker.bid, ask=ticker.ask
        )

    async def on_book(book: Any, _received: float) -> None:
        if book.delta is None:
            return
        bids = [list(book.book.bids.index(level)) for level in range(min(LEVELS, len(book.book.bids)))]
        asks = [list(book.book.asks.index(level)) for level in range(min(LEVELS, len(book.book.asks)))]
        which = {"last_id": book.sequence_number} if claims.exchange == "binance" else {}
        claims.state("depth", book.symbol, bids, asks, **which)

    callbacks = {TRADES: on_trade, TICKER: on_ticker, L2_BOOK: on_book}
    options: dict[str, Any] = (
        {"max_depth": 1000, "checksum_validation": True} if claims.exchange == "kraken" else {}
    )
    handler.add_feed(
        feed(
            symbols=[symbol],
            channels=channels,
            callbacks={channel: callbacks[channel] for channel in channels},
            **options,
        )
    )

    async def until_over() -> None:
        while not claims.over:
            await asyncio.sleep(0.05)
        loop.stop()

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    handler.run(start_loop=False, install_signal_handlers=False)
    ending = loop.create_task(until_over())
    loop.run_forever()
    assert ending.done()
    handler.stop(loop=loop)
    claims.end()


main()
