"""Recorded and documented messages are read as the exchanges mean them."""

import json
from decimal import Decimal
from typing import Any

import pytest

from exchange_conformance.reading import read
from exchange_conformance.symbols import base_of
from exchange_conformance.values import canonical, sent

COINBASE_TICKER = (
    '{"type":"ticker","sequence":9,"product_id":"ETH-USD","price":"2.5","open_24h":"2","volume_24h":"1",'
    '"low_24h":"1","high_24h":"3","best_bid":"2.4","best_ask":"2.6","best_bid_size":"7","best_ask_size":"8",'
    '"last_size":"0.1","trade_id":5,"side":"buy","time":"2021-04-17T16:43:37.075687Z"}'
)
MESSAGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a Binance trade whose buyer was the maker was a sale": (
        "binance",
        '{"stream":"btcusdt@trade","data":{"e":"trade","E":2,"s":"BTCUSDT","t":7,"p":"1.50","q":"2","T":1,"m":true,"M":true}}',
        {"side": "sell", "price": "1.50", "trade_id": 7, "time_ns": 1_000_000, "event_time_ns": 2_000_000},
    ),
    "a Binance trade in microseconds": (
        "binance-microseconds",
        '{"e":"trade","E":2,"s":"BTCUSDT","t":7,"p":"1","q":"2","T":1,"m":false,"M":true}',
        {"side": "buy", "time_ns": 1_000},
    ),
    "a Binance bookTicker has no event type": (
        "binance",
        '{"u":4,"s":"BTCUSDT","b":"1","B":"2","a":"3","A":"4"}',
        {"update_id": 4, "bid": "1", "ask_quantity": "4"},
    ),
    "a Coinbase match tells the maker's side": (
        "coinbase",
        '{"type":"match","trade_id":1,"side":"sell","size":"2","price":"3","product_id":"BTC-USD","sequence":4,'
        '"time":"2021-04-17T16:43:37.075687Z"}',
        {"side": "buy", "maker_side": "sell", "time_ns": 1_618_677_817_075_687_000},
    ),
    "a Coinbase ticker": ("coinbase", COINBASE_TICKER, {"last": "2.5", "bid_quantity": "7", "sequence": 9}),
    "a Gemini trade": (
        "gemini-v2",
        '{"type":"trade","symbol":"BTCUSD","event_id":3,"timestamp":1,"price":"2","quantity":"1","side":"sell","tid":3}',
        {"side": "sell", "event_id": 3, "time_ns": 1_000_000},
    ),
    "a Kraken trade of v2, whose numbers keep their decimals": (
        "kraken-v2",
        '{"channel":"trade","type":"update","data":[{"symbol":"BTC/USD","side":"buy","price":1.10,"qty":0.50000000,'
        '"ord_type":"market","trade_id":5,"timestamp":"2023-09-25T07:49:37.708706Z"}]}',
        {"price": Decimal("1.10"), "trade_id": 5},
    ),
    "a Bybit trade tells the taker's side": (
        "bybit",
        '{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,'
        '"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","i":"20f43950","BT":false}]}',
        {"side": "buy", "price": "16578.50", "trade_id": "20f43950", "time_ns": 1_672_304_486_865_000_000},
    ),
    "a Kraken trade of v1": (
        "kraken-v1",
        '[337,[["5541.20000","0.15850568","1534614057.321597","s","l",""]],"trade","XBT/USD"]',
        {"side": "sell", "time_ns": 1_534_614_057_321_597_000},
    ),
    "a Kraken book of v1 in two parts": (
        "kraken-v1",
        '[1,{"a":[["2.0","1.0","1.5"]]},{"b":[["1.0","0.0","2.5"]],"c":"974942666"},"book-10","XBT/USD"]',
        {"asks": [["2.0", "1.0"]], "bids": [["1.0", "0.0"]], "time_ns": 2_500_000_000},
    ),
    "a recorded Bithumb transaction is in Korean time": (
        "bithumb-legacy",
        '{"type":"transaction","content":{"list":[{"buySellGb":"2","contPrice":"43000000","contQty":"0.1",'
        '"contAmt":"4300000","contDtm":"2021-06-02 08:43:34.555058","updn":"dn","symbol":"BTC_KRW"}]}}',
        {"side": "buy", "time_ns": 1_622_591_014_555_058_000},
    ),
    "a Bithumb trade of 2.x": (
        "bithumb-v2",
        '{"type":"trade","code":"KRW-BTC","trade_price":1.5,"trade_volume":2,"ask_bid":"ASK","trade_timestamp":3,'
        '"sequential_id":9,"timestamp":4,"stream_type":"REALTIME"}',
        {"side": "sell", "trade_id": 9, "time_ns": 3_000_000},
    ),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_a_message_is_read_as_the_exchange_means_it(what: str) -> None:
    dialect, text, expected = MESSAGES[what]
    [reading] = read(dialect, text)
    assert {name: reading.told.fields[name] for name in expected} == expected
    assert not reading.told.snapshot


SILENT = {
    "binance": ['{"result":null,"id":1}', '{"e":"serverShutdown","E":1}'],
    "coinbase": ['{"type":"subscriptions","channels":[]}', '{"type":"heartbeat","sequence":1}'],
    "gemini-v2": ['{"type":"heartbeat","timestamp":1}'],
    "kraken-v2": ['{"channel":"heartbeat"}', '{"method":"pong","time_in":"x"}'],
    "kraken-v1": ['{"event":"heartbeat"}', '{"event":"systemStatus"}'],
    "bithumb-legacy": ['{"status":"0000","resmsg":"Connected Successfully"}'],
    "bithumb-v2": ['{"status":"UP"}'],
}


@pytest.mark.parametrize("dialect", SILENT)
def test_acknowledgements_and_heartbeats_tell_nothing(dialect: str) -> None:
    assert [read(dialect, text) for text in SILENT[dialect]] == [[] for _ in SILENT[dialect]]


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("coinbase", {"type": "snapshot", "product_id": "BTC-USD", "bids": [], "asks": []}),
        ("gemini-v2", {"type": "l2_updates", "symbol": "BTCUSD", "changes": [], "trades": []}),
        ("kraken-v1", [1, {"as": [["2", "1", "1"]], "bs": []}, "book-10", "XBT/USD"]),
    ],
)
def test_what_is_made_for_one_subscriber_is_known_as_such(dialect: str, message: Any) -> None:
    [reading] = read(dialect, json.dumps(message))
    assert reading.told.snapshot


def test_a_gemini_message_of_version_1_tells_its_trades_and_its_changes() -> None:
    message = {
        "type": "update",
        "eventId": 5,
        "timestampms": 7,
        "socket_sequence": 3,
        "events": [
            {"type": "trade", "tid": 4, "price": "1", "amount": "2", "makerSide": "ask"},
            {
                "type": "change",
                "side": "ask",
                "price": "1",
                "remaining": "0",
                "delta": "-2",
                "reason": "trade",
            },
        ],
    }
    trade, depth = read("gemini-v1", json.dumps(message), symbol="BTCUSD")
    assert (trade.told.symbol, trade.told.fields["maker_side"]) == ("BTC", "ask")
    assert depth.told.fields["asks"] == [["1", "0"]]


@pytest.mark.parametrize(
    "symbol", ["btcusdt", "BTCUSD", "BTC/USDT", "BTC-USD", "XBT/USD", "KRW-BTC", "BTC_KRW", "BTC-KRW"]
)
def test_an_instrument_has_one_name(symbol: str) -> None:
    assert base_of(symbol) == "BTC"


def test_times_are_compared_in_the_unit_of_the_claim() -> None:
    fields = {"time_ns": 1_618_677_817_075_687_000}
    claims = {"time_ms": 1_618_677_817_075, "time_us": 1_618_677_817_075_687, "time_s": 1_618_677_817.075687}
    for name, value in claims.items():
        assert canonical(name, value) == sent(name, fields)
        assert canonical(name, value + 1) != sent(name, fields)


def test_a_field_that_was_not_sent_equals_nothing() -> None:
    assert sent("price", {}) != canonical("price", 0)
    assert sent("time_ms", {}) != canonical("time_ms", 0)
