"""Waits double, stay within their cap and come apart; the breaker lets one request try."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.collectors.back_off import BackOff, BreakerPolicy, CircuitBreaker, retry_after_s


@given(st.integers(1, 100_000), st.integers())
def test_a_wait_is_half_to_whole_of_what_it_doubled_to(failures: int, seed: int) -> None:
    back_off = BackOff(first_s=0.1, longest_s=10)
    whole = min(10.0, 0.1 * 2 ** min(failures - 1, 60))
    assert whole / 2 <= back_off.wait_s(failures, random.Random(seed)) <= whole


def test_clients_that_fail_together_come_back_apart() -> None:
    waits = {round(BackOff().wait_s(4, random.Random(seed)), 4) for seed in range(50)}
    assert len(waits) > 40


def test_the_breaker_opens_rests_and_tries_once() -> None:
    breaker = CircuitBreaker(BreakerPolicy(failures=3, rest_s=5))
    for _ in range(2):
        breaker.failed(0)
    assert breaker.wait_s(0) == 0
    breaker.failed(0)
    assert breaker.wait_s(2_000_000_000) == 3
    assert breaker.wait_s(5_000_000_000) == 0
    breaker.failed(5_000_000_000)  # the one that tried
    assert (breaker.wait_s(6_000_000_000), breaker.times_opened) == (4, 2)
    breaker.succeeded()
    assert (breaker.wait_s(6_000_000_000), breaker.failures) == (0, 0)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("999999999999", 3_600.0),
        ("Sun, 06 Nov 1994 08:49:57 GMT", 20.0),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    now = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
    assert retry_after_s(header, now) == seconds
