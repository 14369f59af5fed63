"""Answers of each exchange are read as documented, and anything else is refused in one way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.collectors.venue import (
    VENUES,
    RemoteTime,
    Tick,
    UnreadableError,
    unix_ns_of_rfc3339,
    venue,
)
from feedbench.errors import FeedbenchError


def test_times_keep_every_digit() -> None:
    assert unix_ns_of_rfc3339("2014-11-07T08:19:27.028459Z") == (1_415_348_367_028_459_000, 1_000)
    assert unix_ns_of_rfc3339("2026-11-21T22:57:03.082999617Z") == (1_795_301_823_082_999_617, 1)
    assert unix_ns_of_rfc3339("1970-01-01T00:00:00Z") == (0, 1_000_000_000)
    for wrong in ("2014-11-07T08:19:27.028459", "2014-11-07T08:19:27.0284591234Z", "2014-11-07T08:19:27.+1Z"):
        with pytest.raises(ValueError, match="2014"):
            unix_ns_of_rfc3339(wrong)


def test_each_exchange_in_its_own_words() -> None:
    coinbase, advanced, binance = venue("coinbase"), venue("coinbase-advanced"), venue("binance")
    assert coinbase.read_time(b'{"iso":"2015-01-07T23:47:25.201Z","epoch":1420674445.201}') == RemoteTime(
        1_420_674_445_201_000_000, 1_000_000
    )
    assert advanced.read_time(
        b'{"iso":"2026-11-21T22:44:07Z","epochSeconds":"1795301047","epochMillis":"1795301047380"}'
    ) == RemoteTime(1_795_301_047_380_000_000, 1_000_000)
    assert binance.read_time(b'{"serverTime":1499827319559}') == RemoteTime(
        1_499_827_319_559_000_000, 1_000_000
    )
    assert coinbase.read_message('{"type":"subscriptions","channels":[]}') is None
    ticker = '{"type":"ticker","time":"2014-11-07T08:19:27.028459Z","trade_id":7}'
    assert coinbase.read_message(ticker) == Tick(1_415_348_367_028_459_000, 7)
    assert binance.read_message('{"result":null,"id":1}') is None
    assert binance.read_message('{"e":"trade","E":1672515782136,"t":12345}') == Tick(
        1_672_515_782_136_000_000, 12_345
    )
    # An acknowledgement has a number in the same row, and tells of no event.
    assert advanced.read_message('{"channel":"subscriptions","sequence_num":1,"events":[]}') == Tick(
        None, 1, snapshot=True
    )


@given(st.text(), st.sampled_from(sorted(VENUES)))
def test_whatever_comes_is_a_tick_or_unreadable(text: str, name: str) -> None:
    for read in (VENUES[name].read_message, VENUES[name].read_ticker, VENUES[name].read_time):
        with pytest.raises(UnreadableError):
            read(text.encode())
        with pytest.raises(UnreadableError):
            read(b'[{"type":"ticker","e":"trade","time":5}]')


def test_an_exchange_says_no_in_its_channel_too() -> None:
    with pytest.raises(UnreadableError, match="Failed to subscribe"):
        venue("coinbase").read_message('{"type":"error","message":"Failed to subscribe"}')


def test_elsewhere_keeps_the_path() -> None:
    moved = venue("binance").at(rest_url="http://127.0.0.1:1/", websocket_url="ws://127.0.0.1:1")
    assert (moved.rest_url, moved.websocket_url) == ("http://127.0.0.1:1", "ws://127.0.0.1:1/ws")
    with pytest.raises(FeedbenchError, match="coinbase"):
        venue("coinbas")
