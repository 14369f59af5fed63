"""coinbase-advanced-py: its WSClient, and its response objects."""

import json
import time

from claims import Claims
from coinbase.websocket import WebsocketResponse, WSClient


def claim(claims: Claims, response: WebsocketResponse) -> None:
    """All items of a message but those of a snapshot."""
    for event in response.events:
        if getattr(event, "type", None) == "snapshot":
            continue
        for trade in getattr(event, "trades", None) or []:
            claims.fields(
                "trade",
                trade.product_id,
                trade_id=trade.trade_id,
                price=trade.price,
                quantity=trade.size,
                side=trade.side.lower(),
            )
        for ticker in getattr(event, "tickers", None) or []:
            claims.fields(
                "ticker",
                ticker.product_id,
                last=ticker.price,
                volume=ticker.volume_24_h,
                high=ticker.high_24_h,
                low=ticker.low_24_h,
                bid=ticker.best_bid,
                ask=ticker.best_ask,
                bid_quantity=ticker.best_bid_quantity,
                ask_quantity=ticker.best_ask_quantity,
            )
        updates = getattr(event, "updates", None) or []
        if updates:
            sides: dict[str, list[list[str]]] = {"bid": [], "offer": []}
            for update in updates:
                sides[update.side].append([update.price_level, update.new_quantity])
            claims.fields("depth", event.product_id, bids=sides["bid"], asks=sides["offer"])


def main() -> None:
    claims = Claims("coinbase-advanced-py", {"trade": 300, "ticker": 100, "depth": 20})

    def on_message(text: str) -> None:
        message = json.loads(text)
        if message["channel"] in ("market_trades", "ticker", "l2_data"):
            claim(claims, WebsocketResponse(message))

    client = WSClient(base_url=claims.ws, on_message=on_message)
    client.open()
    client.subscribe(["BTC-USD"], ["market_trades", "ticker", "level2", "heartbeats"])
    while not claims.over:
        time.sleep(0.05)
        client.raise_background_exception()
    client.unsubscribe_all()
    client.close()
    claims.end()


main()
