"""binance-connector, the official one: hands messages over as text."""

import json
import time

from binance.spot import Spot
from binance.websocket.spot.websocket_stream import SpotWebsocketStreamClient
from claims import Claims

CHANNELS = {
    "trade": "trade",
    "aggTrade": "aggregate",
    "depthUpdate": "depth",
    "24hrMiniTicker": "mini_ticker",
}


def main() -> None:
    claims = Claims(
        "binance-connector", {"trade": 200, "aggregate": 200, "depth": 20, "mini_ticker": 2, "best": 100}
    )
    spot = Spot(base_url=claims.rest, show_limit_usage=True)
    usage = spot.depth("BTCUSDT", limit=100)["limit_usage"]
    assert int(usage["x-mbx-used-weight-1m"]) > 0, "REST answers carry the used weight"

    def on_message(_manager: object, text: str) -> None:
        message = json.loads(text)
        if "data" in message:
            data = message["data"]
            claims.text(CHANNELS[data["e"]] if "e" in data else "best", data["s"], text)

    client = SpotWebsocketStreamClient(stream_url=claims.ws, on_message=on_message, is_combined=True)
    client.trade("btcusdt")
    client.agg_trade("btcusdt")
    client.diff_book_depth("btcusdt", speed=100)
    client.mini_ticker("btcusdt")
    client.book_ticker("btcusdt")
    while not claims.over:
        time.sleep(0.05)
    client.stop()
    claims.end()


main()
