"""Where each exchange puts the time of an event, as expressions that DuckDB evaluates message by message.

Papík's rules for his three exchanges (Fig. 4): Binance `E`, Bithumb `timestamp`, Gemini `timestampms`; and
for the other personalities of `feedbench exchange`. Times are cut to whole milliseconds, as receipts are, so
that the cuts cancel on average in a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from feedbench.errors import FeedbenchError
from feedbench.suggest import nearest

NOT_JSON = "not JSON"


class Form(Enum):
    """How a time is written. `{}` is its text; what is of another form becomes NULL."""

    # Whole ms, µs or ns: the three are told apart by their size, from the year 1973 to 5138. Whole seconds
    # are too coarse to be the time of an event.
    EPOCH = """CASE WHEN try_cast({0} AS BIGINT) >= 100000000000000000 THEN try_cast({0} AS BIGINT) // 1000000
                    WHEN try_cast({0} AS BIGINT) >= 100000000000000 THEN try_cast({0} AS BIGINT) // 1000
                    WHEN try_cast({0} AS BIGINT) >= 100000000000 THEN try_cast({0} AS BIGINT) END"""
    SECONDS = "CAST(floor(try_cast({} AS DECIMAL(20, 6)) * 1000) AS BIGINT)"
    ISO = "epoch_ms(try_cast({} AS TIMESTAMP))"
    KOREA = "epoch_ms(try_cast({} AS TIMESTAMP)) - 32400000"  # UTC+9 all the year, written without its zone


@dataclass(frozen=True)
class Place:
    """A JSON path to a time, and the time's form there."""

    path: str
    form: Form = Form.EPOCH


@dataclass(frozen=True)
class Dialect:
    """`places`: the first that holds a time counts. `types` and `markets`: JSON paths, of which the first
    that is there names the message's type and market. `no_events`: types that carry a time of something else.
    `per_connection`: a member that numbers the messages of one connection, which therefore differs between
    clients that get the same event.
    """

    places: tuple[Place, ...]
    types: tuple[str, ...]
    markets: tuple[str, ...]
    no_events: tuple[str, ...] = ()
    per_connection: str = ""

    def event_unix_ms(self, payload: str) -> str:
        """SQL: the event time in `payload`, NULL where there is none or it is no JSON."""
        time = _first(place.form.value.format(_at(payload, place.path)) for place in self.places)
        if not self.no_events:
            return time
        types = ", ".join(f"'{name}'" for name in self.no_events)
        return f"CASE WHEN coalesce({self._type(payload)}, '') NOT IN ({types}) THEN {time} END"

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
        (Place("$.data.E"), Place("$.E"), Place("$.data[0].E")),
        types=("$.data.e", "$.e", "$.data[0].e", "$.stream"),
        markets=("$.data.s", "$.s"),
    ),
    "bithumb": Dialect(
        (
            Place("$.timestamp"),
            Place("$.tms"),  # of the format SIMPLE
            Place("$.content.datetime"),  # of the older API, like the next
            Place("$.content.list[#-1].contDtm", Form.KOREA),
        ),
        types=("$.type", "$.ty"),
        markets=("$.code", "$.cd", "$.content.symbol", "$.content.list[#-1].symbol"),
    ),
    "bithumb-global": Dialect((Place("$.timestamp"),), types=("$.topic",), markets=("$.data.symbol",)),
    "coinbase": Dialect(
        (Place("$.time", Form.ISO),),
        types=("$.type",),
        markets=("$.product_id",),
        no_events=("heartbeat", "last_match"),
    ),
    "coinbase-advanced": Dialect(
        (Place("$.timestamp", Form.ISO),),
        types=("$.channel",),
        markets=(
            "$.events[0].product_id",
            "$.events[0].tickers[0].product_id",
            "$.events[0].trades[0].product_id",
        ),
        no_events=("heartbeats", "subscriptions"),
        per_connection="sequence_num",
    ),
    "gemini": Dialect(
        # The paper's example (Fig. 4c) has `timestamps`; v2 has a `timestamp` in ms, v1 one in seconds.
        (Place("$.timestampms"), Place("$.timestamps"), Place("$.timestamp")),
        types=("$.type",),
        markets=("$.symbol",),  # v1 has one market a connection, named in its URL only
        no_events=("heartbeat",),
        per_connection="socket_sequence",
    ),
    "gemini-streams": Dialect((Place("$.E"),), types=("$.e",), markets=("$.s",)),
    "kraken": Dialect(
        (
            Place("$.timestamp", Form.ISO),
            Place("$.data[#-1].timestamp", Form.ISO),
            Place("$[1][#-1][2]", Form.SECONDS),  # v1: trades
            Place("$[1].a[#-1][2]", Form.SECONDS),  # v1: book
            Place("$[1].b[#-1][2]", Form.SECONDS),
            Place("$[1][2]", Form.SECONDS),  # v1: spread
        ),
        types=("$.channel", "$.event", "$[#-2]"),
        markets=("$.data[0].symbol", "$[#-1]"),
    ),
}


def dialect(exchange: str) -> Dialect:
    """FeedbenchError when nothing is known of `exchange`."""
    if exchange not in DIALECTS:
        raise FeedbenchError(
            f'where the exchange "{exchange}" puts its event times is not known',
            hint=nearest(exchange, DIALECTS) or f"known are {', '.join(DIALECTS)}",
        )
    return DIALECTS[exchange]


def exchange_of(name: str) -> str | None:
    """The exchange that a file's name begins with, such as `binance-spot-btcusdt`."""
    fitting = [known for known in DIALECTS if name == known or name.startswith((f"{known}-", f"{known}."))]
    return max(fitting, key=len, default=None)
