"""gemini_python: MarketDataWS keeps the trades of version 1 of the market data."""

import time

from claims import Claims
from gemini import MarketDataWS


def main() -> None:
    claims = Claims("gemini_python", {"trade": 1000})
    client = MarketDataWS("btcusd")
    client.start()
    seen = 0
    while not claims.over:
        time.sleep(0.05)
        new = client.trades[seen:]
        seen += len(new)
        for trade in new:
            # It looks at the first event of each message only, and passes over the message's other trades.
            claims.message("trade", "BTCUSD", trade, sampled=True)
    client.close()
    claims.end()


main()
