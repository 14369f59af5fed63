"""pybithumb: its WebSocketManager, a process of its own that hands dictionaries over by a queue."""

from claims import Claims
from pybithumb import WebSocketManager


def main() -> None:
    claims = Claims("pybithumb", {"trade": 1000})
    manager = WebSocketManager("transaction", ["BTC_KRW"])
    while not claims.over:
        for trade in manager.get()["content"]["list"]:
            claims.message("trade", trade["symbol"], trade)
    manager.terminate()
    claims.end()


if __name__ == "__main__":
    main()
