"""Where each exchange puts the time of an event, as expressions that DuckDB evaluates message by message.

Papík's rules for his three exchanges (Fig. 4): Binance `E`, Bithumb `timestamp`, Gemini `timestampms`; and
for the other personalities of `feedbench exchange`. Times are cut to whole milliseconds, as receipts are, so
that the cuts cancel on average in a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from feedbench.errors import FeedbenchError
from feedbench.suggest import nearest

NOT_JSON = "not JSON"

# A whole number is ms, µs or ns: the three are told apart by their size, from the year 1973 to 5138. Whole
# seconds are too coarse to be the time of an event.
EPOCH = """CASE WHEN number_of_text >= 100000000000000000 THEN number_of_text // 1000000
     WHEN number_of_text >= 100000000000000 THEN number_of_text // 1000
     WHEN number_of_text >= 100000000000 THEN number_of_text
     ELSE {written} END"""
SECONDS = "CASE WHEN contains(text, '.') THEN floor(try_cast(text AS DECIMAL(20, 6)) * 1000)::BIGINT END"
ISO = "epoch_us(try_cast(text AS TIMESTAMP)) // 1000"  # epoch_ms would round
KOREA = f"{ISO} - 32400000"  # UTC+9 all the year, written without its zone


@dataclass(frozen=True)
class Dialect:
    """`times`, `types` and `markets` are JSON paths: the first that is there tells the event's time, the
    message's type and its market. `written`: how a time is written that is no whole number, as SQL of `text`.
    `no_events`: types that carry a time of something else. `per_connection`: a member that numbers the
    messages of one connection, which therefore differs between clients that get the same event.
    """

    times: tuple[str, ...]
    types: tuple[str, ...]
    markets: tuple[str, ...]
    written: str = "NULL"
    no_events: tuple[str, ...] = ()
    per_connection: str = ""

    def event_unix_ms(self, messages: str) -> str:
        """SQL: the query `messages` with a column event_unix_ms more, NULL where there is no event time or
        no JSON. One column after the other, so that nothing is computed twice, as it would be in one CASE.
        """
        time = _first(_at("payload", path) for path in self.times)
        if self.no_events:
            types = ", ".join(f"'{name}'" for name in self.no_events)
            time = f"CASE WHEN coalesce({self._type('payload')}, '') NOT IN ({types}) THEN {time} END"
        text = f"SELECT *, {time} AS text FROM ({messages})"
        number = f"SELECT *, try_cast(text AS BIGINT) AS number_of_text FROM ({text})"
        return f"SELECT *, {EPOCH.format(written=self.written)} AS event_unix_ms FROM ({number})"

    def identity(self, payload: str) -> str:
        """SQL: the text by which two clients' messages are the same event."""
        if not self.per_connection:
            return payload
        return f"""regexp_replace({payload}, '"{self.per_connection}":[0-9]+', '')"""

    def type_name(self, payload: str) -> str:
        """SQL: what a message calls itself, for telling what was left out."""
        named = f"coalesce({self._type(payload)}, 'unnamed')"
        return f"CASE WHEN json_valid({payload}) THEN {named} ELSE '{NOT_JSON}' END"

    def market(self, payload: str) -> str:
        """SQL: which market it is about, NULL where it does not say."""
        return _first(_at(payload, path) for path in self.markets)

    def _type(self, payload: str) -> str:
        return _first(_at(payload, path) for path in self.types)


def _at(payload: str, path: str) -> str:
    """SQL: the text at `path`; NULL where there is none, or no JSON."""
    return f"TRY(json_extract_string({payload}, '{path}'))"


def _first(expressions: Iterable[str]) -> str:
    each = list(expressions)
    return each[0] if len(each) == 1 else f"coalesce({', '.join(each)})"


DIALECTS: Mapping[str, Dialect] = {
    "binance": Dialect(
        times=("$.data.E", "$.E", "$.data[0].E"),
        types=("$.data.e", "$.e", "$.data[0].e", "$.stream"),
        markets=("$.data.s", "$.s"),
    ),
    "bithumb": Dialect(
        # `tms` is of the format SIMPLE, the last two are the older API's.
        times=("$.timestamp", "$.tms", "$.content.datetime", "$.content.list[#-1].contDtm"),
        types=("$.type", "$.ty"),
        markets=("$.code", "$.cd", "$.content.symbol", "$.content.list[#-1].symbol"),
        written=KOREA,
    ),
    "bithumb-global": Dialect(times=("$.timestamp",), types=("$.topic",), markets=("$.data.symbol",)),
    "bybit": Dialect(
        times=("$.ts",),
        types=("$.topic", "$.op"),
        markets=("$.data.s", "$.data.symbol", "$.data[0].s"),
    ),
    "coinbase": Dialect(
        times=("$.time",),
        types=("$.type",),
        markets=("$.product_id",),
        written=ISO,
        no_events=("heartbeat", "last_match"),
    ),
    "coinbase-advanced": Dialect(
        times=("$.timestamp",),
        types=("$.channel",),
        markets=(
            "$.events[0].product_id",
            "$.events[0].tickers[0].product_id",
            "$.events[0].trades[0].product_id",
        ),
        written=ISO,
        no_events=("heartbeats", "subscriptions"),
        per_connection="sequence_num",
    ),
    "gemini": Dialect(
        # The paper's example (Fig. 4c) has `timestamps`; v2 has a `timestamp` in ms, v1 one in seconds.
        times=("$.timestampms", "$.timestamps", "$.timestamp"),
        types=("$.type",),
        markets=("$.symbol",),  # v1 has one market a connection, named in its URL only
        no_events=("heartbeat",),
        per_connection="socket_sequence",
    ),
    "gemini-streams": Dialect(times=("$.E",), types=("$.e",), markets=("$.s",)),
    "kraken": Dialect(
        # v2, then v1's trades, book and spread.
        times=(
            "$.timestamp",
            "$.data[#-1].timestamp",
            "$[1][#-1][2]",
            "$[1].a[#-1][2]",
            "$[1].b[#-1][2]",
            "$[1][2]",
        ),
        types=("$.channel", "$.event", "$[#-2]"),
        markets=("$.data[0].symbol", "$[#-1]"),
        written=f"coalesce({ISO}, {SECONDS})",
    ),
}


def dialect(exchange: str) -> Dialect:
    """Of `exchange`, or of the one that its name begins with; FeedbenchError when nothing is known of it."""
    known = exchange_of(exchange)
    if known is None:
        raise FeedbenchError(
            f'where the exchange "{exchange}" puts its event times is not known',
            hint=nearest(exchange, DIALECTS) or f"known are {', '.join(DIALECTS)}",
        )
    return DIALECTS[known]


def exchange_of(name: str) -> str | None:
    """The exchange that a file's name begins with, such as `binance-spot-btcusdt`."""
    fitting = [known for known in DIALECTS if name == known or name.startswith((f"{known}-", f"{known}."))]
    return max(fitting, key=len, default=None)
