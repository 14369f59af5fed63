"""Each exchange's event time, and what is no event, message by message."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import pytest

from feedbench.errors import FeedbenchError
from feedbench.pipeline.dialect import DIALECTS, dialect, exchange_of

AT_MS = 1_596_319_805_218
ISO = "2020-08-01T22:10:05.218"


def asked(exchange: str, payload: str) -> tuple[int | None, str, str, str | None]:
    """Event time, identity, type and market."""
    rules = DIALECTS[exchange]
    query = f"""SELECT event_unix_ms, {rules.identity("payload")}, {rules.type_name("payload")},
                       {rules.market("payload")} FROM ({rules.event_unix_ms("SELECT $1 AS payload")})"""
    row = duckdb.execute(query, [payload]).fetchone()
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("exchange", "payload"),
    [
        # The paper's three examples, Fig. 4.
        ("binance", f'{{"stream":"btcusdt@trade","data":{{"e":"trade","E":{AT_MS},"s":"B","T":1}}}}'),
        ("bithumb-global", f'{{"code":"0007","data":{{"b":[]}},"topic":"ORDERBOOK","timestamp":{AT_MS}}}'),
        ("gemini", f'{{"type":"update","timestamp":{AT_MS // 1000},"timestamps":{AT_MS},"events":[]}}'),
        # Other forms of the same.
        ("binance", f'{{"e":"trade","E":{AT_MS},"s":"BTCUSDT"}}'),
        ("binance", f'{{"e":"trade","E":{AT_MS}999}}'),  # timeUnit=MICROSECOND
        ("binance", f'{{"stream":"!miniTicker@arr","data":[{{"e":"24hrMiniTicker","E":{AT_MS}}}]}}'),
        ("gemini", f'{{"type":"update","timestamp":{AT_MS // 1000},"timestampms":{AT_MS},"events":[]}}'),
        ("gemini", f'{{"type":"trade","symbol":"BTCUSD","timestamp":{AT_MS}}}'),
        ("gemini-streams", f'{{"u":1,"E":{AT_MS}123456,"s":"btcusd"}}'),
        ("bithumb", f'{{"type":"trade","code":"KRW-BTC","trade_timestamp":1,"timestamp":{AT_MS}}}'),
        ("bithumb", f'{{"ty":"trade","cd":"KRW-BTC","tms":{AT_MS}}}'),
        ("bithumb", '{"type":"transaction","content":{"list":[{"contDtm":"2020-08-02 07:10:05.218315"}]}}'),
        ("bybit", f'{{"topic":"publicTrade.BTCUSDT","ts":{AT_MS},"type":"snapshot","data":[{{"T":1}}]}}'),
        ("coinbase", f'{{"type":"ticker","time":"{ISO}704Z","product_id":"BTC-USD"}}'),
        ("coinbase-advanced", f'{{"channel":"ticker","timestamp":"{ISO}704335Z","events":[]}}'),
        ("kraken", f'{{"channel":"book","data":[{{"symbol":"B","timestamp":"{ISO}140Z"}}]}}'),
        ("kraken", '[333,[["1.0","2","1596319805.218089","b","m",""]],"trade","XBT/USD"]'),
        ("kraken", '[335,{"a":[["1.0","2","1596319805.218089"]],"c":"9"},"book-10","XBT/USD"]'),
        ("kraken", '[335,{"b":[["1.0","2","1596319805.218089"]],"c":"9"},"book-10","XBT/USD"]'),
        ("kraken", '[336,["1.0","1.1","1596319805.218089","3","4"],"spread","XBT/USD"]'),
    ],
)  # fmt: skip
def test_the_event_time_is_found(exchange: str, payload: str) -> None:
    assert datetime.fromtimestamp(AT_MS / 1000, UTC).isoformat(timespec="milliseconds").startswith(ISO)
    assert asked(exchange, payload)[0] == AT_MS


@pytest.mark.parametrize(
    ("exchange", "payload", "type_name"),
    [
        ("binance", '{"result":null,"id":1}', "unnamed"),
        ("binance", '{"stream":"btcusdt@bookTicker","data":{"u":1,"s":"BTCUSDT"}}', "btcusdt@bookTicker"),
        ("binance", '{"stream":"btcusdt@trade","data":{"e":"trade","E":15963', "not JSON"),
        ("binance", "PING", "not JSON"),
        ("binance", '{"e":"trade","E":"soon"}', "trade"),
        ("binance", '{"e":"trade","E":1596319805}', "trade"),  # seconds are too coarse
        ("bithumb-global", '{"code":"00001","msg":"subscribe success"}', "unnamed"),
        ("gemini", f'{{"type":"heartbeat","timestampms":{AT_MS},"socket_sequence":3}}', "heartbeat"),
        ("gemini", '{"type":"update","eventId":1,"timestamp":1596319805,"events":[]}', "update"),
        ("bybit", '{"success":true,"ret_msg":"","conn_id":"1","req_id":"","op":"subscribe"}', "subscribe"),
        ("coinbase", f'{{"type":"heartbeat","time":"{ISO}Z"}}', "heartbeat"),
        ("coinbase", f'{{"type":"last_match","time":"{ISO}Z"}}', "last_match"),
        ("coinbase-advanced", f'{{"channel":"heartbeats","timestamp":"{ISO}Z"}}', "heartbeats"),
        ("kraken", '{"method":"subscribe","success":true,"time_in":"2020-08-01T22:10:05Z"}', "unnamed"),
        ("kraken", '{"channel":"heartbeat"}', "heartbeat"),
    ],
)
def test_what_has_no_event_time_is_named(exchange: str, payload: str, type_name: str) -> None:
    event_ms, _, named, _ = asked(exchange, payload)
    assert event_ms is None
    assert named == type_name


@pytest.mark.parametrize(
    ("exchange", "member"), [("gemini", "socket_sequence"), ("coinbase-advanced", "sequence_num")]
)
def test_numbers_of_a_connection_do_not_make_another_event(exchange: str, member: str) -> None:
    first, second, other = (
        asked(exchange, f'{{"type":"update","{member}":{number},"events":[{events}]}}')[1]
        for number, events in ((7, "1"), (1234, "1"), (7, "2"))
    )
    assert first == second
    assert first != other


def test_markets_are_named() -> None:
    assert (
        asked("binance", f'{{"stream":"a@trade","data":{{"e":"trade","E":{AT_MS},"s":"BTCUSDT"}}}}')[3]
        == "BTCUSDT"
    )
    assert asked("kraken", '[333,[["1.0","2","1596319805.218089"]],"trade","XBT/USD"]')[3] == "XBT/USD"


def test_an_unknown_exchange_is_refused_with_the_nearest() -> None:
    with pytest.raises(FeedbenchError, match="binance"):
        dialect("binanec")


def test_a_files_name_begins_with_its_exchange() -> None:
    assert exchange_of("coinbase-advanced-ticker") == "coinbase-advanced"
    assert exchange_of("binance-spot-btcusdt") == "binance"
    assert exchange_of("binanceus") is None
