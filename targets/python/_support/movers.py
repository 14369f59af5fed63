"""What Özmen's client does with each message of a relay, whatever library receives it.

It reads symbol, open and close of a candle, works out the change in per cent, and prints it when it reaches a
threshold. A library brings one coroutine that receives.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import serving

STUDY_THRESHOLD_PERCENT = 1.5


@dataclass(frozen=True)
class Candle:
    """One symbol's prices so far in its interval."""

    symbol: str
    open: float
    close: float

    @property
    def change_percent(self) -> float:
        return (self.close - self.open) / self.open * 100


def parse(message: str | bytes) -> Candle | None:
    """A candle out of Binance's kline event, alone or inside a combined stream; None when it is none."""
    try:
        event = json.loads(message)
        event = event.get("data", event)
        candle = Candle(event["s"], float(event["k"]["o"]), float(event["k"]["c"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return candle if candle.open > 0 else None


class Movers:
    """Counts every message, whether its price rose or fell, and prints those that reach the threshold."""

    def __init__(self, threshold_percent: float) -> None:
        self.threshold_percent = threshold_percent
        self.messages = 0
        self.unread = 0
        self.movers = 0

    def take(self, message: str | bytes) -> None:
        self.messages += 1
        candle = parse(message)
        if candle is None:
            self.unread += 1
        elif candle.change_percent >= self.threshold_percent:
            self.movers += 1
            print(f"{candle.symbol} {candle.change_percent:+.2f} %", flush=True)

    def summary(self) -> str:
        unread = f", {self.unread} that are no candle" if self.unread else ""
        return f"{self.messages} messages, {self.movers} movers{unread}"


async def _until_asked(receive: Callable[[str, Movers], Awaitable[None]], url: str, movers: Movers) -> str:
    """Receives until the connection or the user ends it; what went wrong, or nothing."""
    receiving = asyncio.ensure_future(receive(url, movers))
    asked = asyncio.ensure_future(serving.asked_to_end())
    await asyncio.wait({receiving, asked}, return_when="FIRST_COMPLETED")
    asked_to_end = asked.done()
    receiving.cancel()
    asked.cancel()
    try:
        await receiving
    except asyncio.CancelledError:
        return ""
    except Exception as error:  # a library's own kinds: no two have one in common
        return "" if asked_to_end else f"{url}: {error or type(error).__name__}"
    return "" if asked_to_end else f"{url}: the relay closed the connection"


def run(receive: Callable[[str, Movers], Awaitable[None]]) -> None:
    """Runs the client that the command line asks for; `receive(url, movers)` hands every message over."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("url", help="of a relay: ws://127.0.0.1:9001/feed")
    parser.add_argument("--threshold", type=float, default=STUDY_THRESHOLD_PERCENT, metavar="PERCENT")
    given = parser.parse_args()
    movers = Movers(given.threshold)
    problem = asyncio.run(_until_asked(receive, given.url, movers))
    print(movers.summary(), file=sys.stderr)
    if problem:
        sys.exit(problem)
