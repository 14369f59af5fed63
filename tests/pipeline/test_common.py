"""The events that all have: against a few lines of Python that do the same one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedbench.pipeline import common
from feedbench.pipeline.ages import Ages
from feedbench.pipeline.common import common_events
from feedbench.pipeline.deliveries import TABLES

# What each client received, in order: (text, age).
Received = Sequence[Sequence[tuple[str, int]]]
RECEIVED = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 9)), max_size=15), min_size=1, max_size=4
)


def found(received: Received) -> tuple[list[Counter[int]], list[int]]:
    """By the pipeline: ages of common events, and how many repeat an earlier one."""
    with duckdb.connect() as database:
        database.execute(TABLES)
        rows = [
            (series, number, age, text)
            for series, events in enumerate(received)
            for number, (text, age) in enumerate(events)
        ]
        # Backwards, since nothing promises that rows lie in the order of receipt.
        for row in reversed(rows):
            database.execute("INSERT INTO deliveries VALUES (?, ?, 1, 0, ?, md5_number(?))", row)
        result = common_events(range(len(received)), database, lambda _: None)
    return [counted(result[series].ages) for series in range(len(received))], [
        result[series].repeated for series in range(len(received))
    ]


def counted(ages: Ages) -> Counter[int]:
    return Counter(dict(zip(ages.values_ms.tolist(), ages.counts.tolist(), strict=True)))


def naive(received: Received) -> list[Counter[int]]:
    """The n-th receipt of a text at one client belongs to the n-th at each other."""
    keyed: list[Mapping[tuple[str, int], int]] = []
    for events in received:
        times: defaultdict[str, int] = defaultdict(int)
        ages = {}
        for text, age in events:
            ages[text, times[text]] = age
            times[text] += 1
        keyed.append(ages)
    everywhere = set.intersection(*(set(ages) for ages in keyed))
    return [Counter(ages[key] for key in everywhere) for ages in keyed]


@settings(max_examples=40)
@given(RECEIVED)
def test_it_is_what_one_by_one_gives(received: Received) -> None:
    ages, repeated = found(received)
    assert ages == naive(received)
    assert repeated == [len(events) - len({text for text, _ in events}) for events in received]


@settings(max_examples=40)
@given(RECEIVED, st.randoms(use_true_random=False))
def test_the_order_of_clients_does_not_matter(received: Received, random: object) -> None:
    order = list(range(len(received)))
    random.shuffle(order)  # type: ignore[attr-defined]
    ages, _ = found(received)
    shuffled, _ = found([received[place] for place in order])
    assert shuffled == [ages[place] for place in order]


def test_true_duplicates_neither_multiply_nor_vanish() -> None:
    # a was sent twice: the second client missed it once, the third has both.
    received = [[("a", 1), ("a", 2), ("b", 3)], [("a", 4), ("b", 5)], [("a", 6), ("b", 7), ("a", 8)]]
    ages, repeated = found(received)
    assert ages == [Counter([1, 3]), Counter([4, 5]), Counter([6, 7])]
    assert repeated == [1, 0, 1]


def test_partitions_by_hash_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    received = [[(f"{event % 300}", (event + client) % 7) for event in range(400)] for client in range(3)]
    whole = found(received)
    monkeypatch.setattr(common, "ROWS_AT_ONCE", 100)
    assert found(received) == whole
    assert whole[0] == naive(received)


def test_papiks_join_would_lose_the_second() -> None:
    """So that the property above can tell the two joins apart."""
    received = [[("a", 1), ("a", 2)], [("a", 3), ("a", 4)]]
    unique_key = [Counter([1]), Counter([3])]
    assert naive(received) != unique_key
    assert found(received)[0] == [Counter([1, 2]), Counter([3, 4])]
