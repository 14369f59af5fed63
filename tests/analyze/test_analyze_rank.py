"""Ranks, tiers and the probability of being first."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedbench.analyze.rank import first_tier, probability_first, rank_intervals, tiers

NAMES = ("a", "b", "c", "d", "e")
SLOWER = st.sets(st.sampled_from(list(combinations(NAMES, 2))))


@pytest.mark.parametrize(
    ("slower", "ranks", "sets", "why"),
    [
        (
            set(),
            {"a": (1, 3), "b": (1, 3), "c": (1, 3)},
            [("a", "b", "c")],
            "nothing decided: everybody everywhere",
        ),
        (
            {("a", "b"), ("a", "c"), ("b", "c")},
            {"a": (1, 1), "b": (2, 2), "c": (3, 3)},
            [("a",), ("b",), ("c",)],
            "everything decided",
        ),
        (
            {("a", "c")},
            {"a": (1, 2), "b": (1, 3), "c": (2, 3)},
            [("a", "b"), ("b", "c")],
            "b ties with both of two that differ, and belongs to both tiers",
        ),
        (
            {("a", "b")},
            {"a": (1, 2), "b": (2, 3), "c": (1, 3)},
            [("a", "c"), ("b", "c")],
            "a noisy c ties with all",
        ),
    ],
)
def test_ranks_and_tiers(
    slower: set[tuple[str, str]], ranks: dict[str, tuple[int, int]], sets: list[tuple[str, ...]], why: str
) -> None:
    assert rank_intervals(["a", "b", "c"], slower) == ranks, why
    assert tiers(["a", "b", "c"], slower) == sets, why


@given(SLOWER)
def test_tiers_hold_no_different_pair_and_could_not_be_larger(slower: set[tuple[str, str]]) -> None:
    different = {frozenset(pair) for pair in slower}
    found = tiers(NAMES, slower)
    for members in found:
        assert not any(frozenset(pair) in different for pair in combinations(members, 2))
        for other in set(NAMES) - set(members):
            assert any(frozenset((other, member)) in different for member in members)
    assert set().union(*map(set, found)) == set(NAMES)
    assert len(found) == len(set(found))
    numbers = first_tier(found)
    assert numbers.keys() == set(NAMES)
    assert set(numbers.values()) == set(range(1, max(numbers.values()) + 1))


@given(SLOWER)
def test_rank_intervals_lie_within_the_field(slower: set[tuple[str, str]]) -> None:
    for low, high in rank_intervals(NAMES, slower).values():
        assert 1 <= low <= high <= len(NAMES)


def test_thirty_in_one_tier_take_no_time() -> None:
    names = [f"target {k}" for k in range(30)]
    assert tiers(names, set()) == [tuple(names)]
    assert tiers([], set()) == []


def test_probability_first_follows_the_blocks_and_its_seed() -> None:
    values = {
        "fast": {block: 100 + block % 2 for block in range(11)},
        "same": {block: 100 + (block + 1) % 2 for block in range(11)},
        "slow": dict.fromkeys(range(11), 150),
    }
    first = probability_first(values, paired=True, seed=1)
    assert first == probability_first(values, paired=True, seed=1)
    assert sum(first.values()) == pytest.approx(1)
    assert first["slow"] == 0
    assert 0.2 < first["fast"] < 0.9


def test_probability_first_without_a_common_block_is_nobodys() -> None:
    assert probability_first({"a": {0: 1}, "b": {1: 1}}, paired=True, seed=1) == {"a": 0.0, "b": 0.0}
    assert probability_first({}, paired=True, seed=1) == {}


def test_equals_share_the_first_place() -> None:
    assert probability_first({"a": {0: 5, 1: 5}, "b": {0: 5, 1: 5}}, paired=True, seed=1) == {
        "a": 0.5,
        "b": 0.5,
    }
