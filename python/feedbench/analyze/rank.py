"""Ranks as intervals, tiers, and the probability of being first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

BOOTSTRAP_DRAWS = 2_000


def rank_intervals(names: Sequence[str], slower: Collection[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """[1 + number decided faster, N − number decided slower]; `slower` holds pairs (faster, slower) found
    different.
    """
    return {
        name: (
            1 + sum(loser == name for _, loser in slower),
            len(names) - sum(winner == name for winner, _ in slower),
        )
        for name in names
    }


def tiers(fastest_first: Sequence[str], slower: Collection[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Maximal sets without a `different` pair, the set of the fastest first; they may overlap.

    Overlap is honest: where A ties with B and B with C but A is faster than C, B belongs to both.
    """
    different = {frozenset(pair) for pair in slower}
    place = {name: position for position, name in enumerate(fastest_first)}
    tied = {
        name: {
            other for other in fastest_first if other != name and frozenset((name, other)) not in different
        }
        for name in fastest_first
    }
    found: list[tuple[str, ...]] = []

    def extend(members: set[str], candidates: set[str], covered: set[str]) -> None:
        """Bron & Kerbosch (1973): every maximal clique of `tied` that holds `members`."""
        if not candidates and not covered:
            found.append(tuple(sorted(members, key=place.__getitem__)))
        # A pivot with many ties keeps the search short: its partners are reached through it.
        pivot = max(candidates | covered, key=lambda name: len(tied[name]), default=None)
        for name in sorted(candidates - (tied[pivot] if pivot else set()), key=place.__getitem__):
            extend(members | {name}, candidates & tied[name], covered & tied[name])
            candidates = candidates - {name}
            covered = covered | {name}

    if fastest_first:
        extend(set(), set(fastest_first), set())
    return sorted(found, key=lambda members: [place[name] for name in members])


def first_tier(sets: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """The first tier, from 1, that each belongs to; tiers that are nobody's first are not counted."""
    tier: dict[str, int] = {}
    number = 0
    for members in sets:
        newcomers = [name for name in members if name not in tier]
        number += bool(newcomers)
        tier.update(dict.fromkeys(newcomers, number))
    return tier


def probability_first(
    values: Mapping[str, Mapping[int, int]], *, paired: bool, seed: int
) -> dict[str, float]:
    """How often each has the lowest mean log value when blocks are drawn anew (bootstrap over blocks).

    `paired`: only blocks that have all of them are drawn from, the same for all; without such a block
    everyone gets 0. Else each draws from its own. Descriptive: no decision rests on it.
    """
    names = list(values)
    common = sorted(set.intersection(*(set(blocks) for blocks in values.values()))) if names else []
    if not names or (paired and not common):
        return dict.fromkeys(names, 0.0)
    random = np.random.default_rng(seed)
    if paired:
        logs = np.log([[max(values[name][block], 1) for block in common] for name in names])
        means = logs[:, random.integers(0, len(common), (BOOTSTRAP_DRAWS, len(common)))].mean(axis=2)
    else:
        own = [np.log([max(value, 1) for value in values[name].values()]) for name in names]
        means = np.array(
            [one[random.integers(0, len(one), (BOOTSTRAP_DRAWS, len(one)))].mean(axis=1) for one in own]
        )
    best = means == means.min(axis=0)
    # Whoever shares the first place shares its draw.
    wins = (best / best.sum(axis=0)).mean(axis=1)
    return {name: float(share) for name, share in zip(names, wins, strict=True)}
