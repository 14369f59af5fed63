"""What every Python driver does besides using its client: read the arguments, print claims, know when to end.

A claim is one JSON line on stdout: what the client handed over, before anybody else touched it. `sampled`
marks a client that hands over the latest value only, so that there may be others between two claims.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from importlib.metadata import version
from typing import Any


class Claims:
    """Prints claims until `messages` were made and each channel was heard of often enough.

    `least` says how often: a ticker by the second must not hold up the end as long as trades may.
    """

    def __init__(self, package: str, least: dict[str, int]) -> None:
        parser = argparse.ArgumentParser(description=f"Drives {package} and prints what it understood.")
        parser.add_argument("--exchange", required=True)
        parser.add_argument("--messages", type=int, required=True)
        parser.add_argument("--deadline-s", type=float, required=True)
        parser.add_argument("--ws", required=True, help="where the exchange's WebSocket paths begin")
        parser.add_argument("--rest", required=True, help="where its REST paths begin")
        arguments = parser.parse_args()
        self.exchange: str = arguments.exchange
        self.ws: str = arguments.ws
        self.rest: str = arguments.rest
        self._messages: int = arguments.messages
        self._gives_up = time.monotonic() + arguments.deadline_s
        self._least = least
        self._count: Counter[str] = Counter()
        _print({"version": version(package)})

    def channels(self, least: dict[str, int]) -> None:
        """Sets how often each channel must be heard of, where it depends on the exchange."""
        self._least = least

    def fields(self, channel: str, symbol: str, *, sampled: bool = False, **fields: Any) -> None:
        """Values of an object of the client's."""
        self._claim(channel, symbol, sampled, fields=fields)

    def message(self, channel: str, symbol: str, message: Any, *, sampled: bool = False) -> None:
        """A whole message as the client parsed it."""
        self._claim(channel, symbol, sampled, message=message)

    def text(self, channel: str, symbol: str, text: str) -> None:
        """A whole message as the client handed it over."""
        self._claim(channel, symbol, False, text=text)

    def state(
        self, channel: str, symbol: str, bids: Any, asks: Any, *, sampled: bool = False, **fields: Any
    ) -> None:
        """A book that the client keeps: its best levels."""
        self._claim(channel, symbol, sampled, state={"bids": bids, "asks": asks}, fields=fields)

    def _claim(self, channel: str, symbol: str, sampled: bool, **what: Any) -> None:
        if not self.over:
            self._count[channel] += 1
            _print({"channel": channel, "symbol": symbol, "sampled": sampled, **what})

    @property
    def complete(self) -> bool:
        """True when enough was received."""
        return self._count.total() >= self._messages and all(
            self._count[channel] >= count for channel, count in self._least.items()
        )

    @property
    def over(self) -> bool:
        """True when there is nothing more to wait for."""
        return self.complete or time.monotonic() > self._gives_up

    def end(self) -> None:
        """Says whether enough was received; the last line."""
        _print({"complete": self.complete})
        if not self.complete:
            print(f"received only {dict(self._count)}", file=sys.stderr)
        sys.stdout.flush()


def _print(value: dict[str, Any]) -> None:
    # Decimals and dates are written as the text that they show.
    print(json.dumps(value, default=str))
